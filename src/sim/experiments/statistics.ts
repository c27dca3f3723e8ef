/**
 * @module
 * Means over seeds with 95 % bounds (Student's t), of values and of paired differences.
 */

export interface Estimate {
  readonly n: number
  readonly mean: number
  /** Half width of the two-sided 95 % interval; NaN below two values. */
  readonly half: number
  /** One-sided 95 % lower bound of the mean. */
  readonly lower: number
}

// Quantiles of Student's t for 1 to 30 degrees of freedom (two-sided 95 % and one-sided 95 %); the normal ones beyond.
const TWO_SIDED = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
]
const ONE_SIDED = [
  6.314, 2.92, 2.353, 2.132, 2.015, 1.943, 1.895, 1.86, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
  1.753, 1.746, 1.74, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701,
  1.699, 1.697,
]

export function estimate(values: readonly number[]): Estimate {
  const n = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  if (n < 2) return { n, mean, half: Number.NaN, lower: Number.NaN }
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1)
  const error = Math.sqrt(variance / n)
  return {
    n,
    mean,
    half: (TWO_SIDED[n - 2] ?? 1.96) * error,
    lower: mean - (ONE_SIDED[n - 2] ?? 1.645) * error,
  }
}

/** Of the differences a - b, seed by seed. */
export function paired(a: readonly number[], b: readonly number[]): Estimate {
  return estimate(a.map((value, i) => value - (b[i] as number)))
}

/** Pearson's correlation of two columns where both are numbers; NaN where either is constant. */
export function correlation(a: readonly number[], b: readonly number[]): number {
  const pairs = a.flatMap((x, i): [number, number][] => {
    const y = b[i] as number
    return Number.isNaN(x) || Number.isNaN(y) ? [] : [[x, y]]
  })
  const meanA = pairs.reduce((sum, [x]) => sum + x, 0) / pairs.length
  const meanB = pairs.reduce((sum, [, y]) => sum + y, 0) / pairs.length
  let both = 0
  let squaresA = 0
  let squaresB = 0
  for (const [x, y] of pairs) {
    both += (x - meanA) * (y - meanB)
    squaresA += (x - meanA) ** 2
    squaresB += (y - meanB) ** 2
  }
  return squaresA > 0 && squaresB > 0 ? both / Math.sqrt(squaresA * squaresB) : Number.NaN
}
