/**
 * @module
 * Time series of bounded size: equal buckets of time that double in width when the run outgrows them. Each column holds the mean of
 * what was recorded in a bucket, weighted by how long it held.
 */

export interface Series {
  readonly bucketMs: number
  readonly names: readonly string[]
  /** One array per name; NaN where nothing was recorded. */
  readonly columns: readonly Float64Array[]
}

export interface SeriesRecorder {
  /** The values of all columns from `fromMs` to `toMs`; NaN leaves a column out. Times never fall. @hot */
  record(fromMs: number, toMs: number, values: Float64Array): void
  build(): Series
}

export function createSeriesRecorder(
  names: readonly string[],
  options: { readonly bucketMs?: number; readonly maxBuckets?: number } = {},
): SeriesRecorder {
  const maxBuckets = options.maxBuckets ?? 512
  let bucketMs = options.bucketMs ?? 1000
  let used = 0
  const sums = names.map(() => new Float64Array(maxBuckets))
  const weights = names.map(() => new Float64Array(maxBuckets))

  function halve(): void {
    for (const columns of [sums, weights]) {
      for (const column of columns) {
        for (let i = 0; i < maxBuckets; i++) {
          const left = 2 * i < maxBuckets ? (column[2 * i] as number) : 0
          const right = 2 * i + 1 < maxBuckets ? (column[2 * i + 1] as number) : 0
          column[i] = left + right
        }
      }
    }
    bucketMs *= 2
    used = Math.ceil(used / 2)
  }

  function add(bucket: number, weight: number, values: Float64Array): void {
    for (let c = 0; c < names.length; c++) {
      const value = values[c] as number
      if (Number.isNaN(value)) continue
      const sum = sums[c] as Float64Array
      const total = weights[c] as Float64Array
      sum[bucket] = (sum[bucket] as number) + value * weight
      total[bucket] = (total[bucket] as number) + weight
    }
    if (bucket >= used) used = bucket + 1
  }

  return {
    record(fromMs, toMs, values) {
      while (toMs / bucketMs >= maxBuckets) halve()
      const first = Math.floor(fromMs / bucketMs)
      const last = Math.floor(toMs / bucketMs)
      for (let bucket = first; bucket <= last; bucket++) {
        const start = bucket === first ? fromMs : bucket * bucketMs
        const end = bucket === last ? toMs : (bucket + 1) * bucketMs
        if (end > start) add(bucket, end - start, values)
      }
    },
    build() {
      const columns = sums.map((sum, c) =>
        sum.slice(0, used).map((value, i) => value / ((weights[c] as Float64Array)[i] as number)),
      )
      return { bucketMs, names, columns }
    },
  }
}
