/**
 * @module
 * How much a batch of unequal contexts costs over one in which all hold the mean: `t = t(mean) + alpha (t(max) - t(mean))`, with alpha
 * measured by the profiler on batches of two context lengths, a share of them long. The share of a real batch is read as
 * `(mean - min) / (max - min)`. Alpha is a small difference of large numbers and scatters from bucket to bucket, so it is averaged over
 * the buckets of longest context and interpolated over batch size and share.
 *
 * Only the decode-only rows are used. Beside a prefill chunk the measured `t(max)` of large batches lies where the cache thrashes
 * (many times the mean's), which no real batch of that mean does, and the alphas there scatter from -0.7 to 2.9.
 */
import type { CsvTable } from './csv.js'
import { type Curve, createCurve, segmentOf } from './curve.js'

export interface SkewTable {
  /** alpha for `decodes` sequences of which a share is long. */
  alpha(decodes: number, longShare: number): number
}

/** Middles of the profiler's share buckets `sr<=5%` to `sr>70%`. */
const SHARES: Readonly<Record<string, number>> = {
  'sr<=5%': 0.025,
  'sr<=15%': 0.1,
  'sr<=40%': 0.25,
  'sr<=70%': 0.5,
  'sr>70%': 0.85,
}

export function createSkewTable(csv: CsvTable, file: string): SkewTable {
  const chunk = csv.number('pc')
  const alpha = csv.number('alpha')
  const counts = csv.text('n_label')
  const shares = csv.text('skew_rate_label')
  const cells = new Map<number, Map<number, { sum: number; rows: number }>>()
  for (let row = 0; row < csv.rows; row++) {
    const count = Number((counts[row] as string).replace(/^n<=/, ''))
    const share = SHARES[shares[row] as string]
    if (chunk[row] !== 0 || !Number.isFinite(count) || share === undefined) continue
    const byShare = cells.get(count) ?? new Map<number, { sum: number; rows: number }>()
    const cell = byShare.get(share) ?? { sum: 0, rows: 0 }
    cell.sum += alpha[row] as number
    cell.rows++
    byShare.set(share, cell)
    cells.set(count, byShare)
  }
  const sorted = [...cells].sort((a, b) => a[0] - b[0])
  const axis = Float64Array.from(sorted, ([count]) => Math.log2(count))
  const curves: Curve[] = sorted.map(([count, byShare]) => {
    const points = [...byShare]
    return createCurve(
      points.map(([share]) => share),
      points.map(([, cell]) => cell.sum / cell.rows),
      `${file} n<=${count}`,
    )
  })
  const last = axis.length - 1
  return {
    alpha(decodes, longShare) {
      if (last < 0) return 0
      const point = Math.log2(decodes)
      if (last === 0 || point <= (axis[0] as number)) return (curves[0] as Curve).at(longShare)
      if (point >= (axis[last] as number)) return (curves[last] as Curve).at(longShare)
      const i = segmentOf(axis, last, point)
      const x0 = axis[i] as number
      const low = (curves[i] as Curve).at(longShare)
      const high = (curves[i + 1] as Curve).at(longShare)
      return low + ((high - low) * (point - x0)) / ((axis[i + 1] as number) - x0)
    },
  }
}
