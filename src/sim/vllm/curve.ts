/**
 * @module
 * A function known at some points: linear between them, and beyond the last point along the last segment. Below the first
 * point it keeps the first value: a kernel has a floor that does not shrink with its work.
 */
import { HorizonError } from '../../core/errors.js'

export interface Curve {
  readonly points: number
  /** Linear between the points. */
  at(x: number): number
  /**
   * The value at the next point that is not below `x`: for kernels that work in tiles, whose time is flat up to a tile's edge
   * and jumps there. The edges are points of the profiler's grid, so a line between two points would cut every corner.
   */
  ceil(x: number): number
}

/** Points may come in any order; of repeated abscissae the last one counts. */
export function createCurve(xs: ArrayLike<number>, ys: ArrayLike<number>, name: string): Curve {
  const byX = new Map<number, number>()
  for (let i = 0; i < xs.length; i++) byX.set(xs[i] as number, ys[i] as number)
  const sorted = [...byX].sort((a, b) => a[0] - b[0])
  if (sorted.length === 0) {
    throw new HorizonError('ERR_SIM_TABLE', 'no measured point', {
      field: name,
      expected: 'at least one row',
      got: 0,
    })
  }
  const x = Float64Array.from(sorted, (p) => p[0])
  const y = Float64Array.from(sorted, (p) => p[1])
  const last = x.length - 1
  return {
    points: x.length,
    at(value) {
      if (last === 0 || value <= (x[0] as number)) return y[0] as number
      const i = segmentOf(x, last, value)
      const x0 = x[i] as number
      const y0 = y[i] as number
      return y0 + (((y[i + 1] as number) - y0) * (value - x0)) / ((x[i + 1] as number) - x0)
    },
    ceil(value) {
      if (last === 0 || value <= (x[0] as number)) return y[0] as number
      const i = segmentOf(x, last, value)
      if (value === x[i]) return y[i] as number
      return value <= (x[last] as number) ? (y[i + 1] as number) : this.at(value)
    },
  }
}

/** Index of the segment of the sorted `x[0..last]` that `value` lies in; the last one for what lies beyond. */
export function segmentOf(x: Float64Array, last: number, value: number): number {
  let low = 0
  let high = last
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((x[middle] as number) <= value) low = middle
    else high = middle
  }
  return low
}
