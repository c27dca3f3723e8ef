/**
 * @module
 * A law of lengths through published quantiles: log-linear between the smallest value, p50, p95, p99 and the largest, with one free
 * knot at p75 placed so that the mean is the published one too. What lies between published points is a guess, smooth at best.
 */
import { HorizonError } from '../../core/errors.js'
import type { Distribution } from '../distributions.js'

export interface PublishedQuantiles {
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
  readonly mean: number
}

/** Throws `ERR_SIM_DISTRIBUTION` unless 0 < min < p50 < p95 < p99 < max. The mean is met as far as p50 and p95 allow. */
export function quantileFit(of: PublishedQuantiles): Distribution {
  const { min, p50, p95, p99, max } = of
  if (!(min > 0 && min < p50 && p50 < p95 && p95 < p99 && p99 < max && max < Infinity)) {
    throw new HorizonError('ERR_SIM_DISTRIBUTION', 'quantiles do not rise', {
      expected: '0 < min < p50 < p95 < p99 < max',
      got: [min, p50, p95, p99, max].join(', '),
    })
  }
  const levels = [0, 0.5, 0.75, 0.95, 0.99, 1]
  const values = (p75: number): number[] => [min, p50, p75, p95, p99, max]
  let low = p50
  let high = p95
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2
    if (moment(levels, values(middle), 1) < of.mean) low = middle
    else high = middle
  }
  const knots = values((low + high) / 2)
  const mean = moment(levels, knots, 1)
  return {
    mean,
    cv: Math.sqrt(Math.max(0, moment(levels, knots, 2) / mean ** 2 - 1)),
    sample(rng) {
      const u = rng.next()
      let i = 1
      while (i < levels.length - 1 && u >= (levels[i] as number)) i++
      const left = levels[i - 1] as number
      const part = (u - left) / ((levels[i] as number) - left)
      const from = knots[i - 1] as number
      return from * ((knots[i] as number) / from) ** part
    },
  }
}

/** The `power`-th moment of a law that is log-linear between knots. */
function moment(levels: readonly number[], values: readonly number[], power: number): number {
  let sum = 0
  for (let i = 1; i < levels.length; i++) {
    const a = (values[i - 1] as number) ** power
    const b = (values[i] as number) ** power
    const weight = (levels[i] as number) - (levels[i - 1] as number)
    sum += weight * (b === a ? a : (b - a) / Math.log(b / a))
  }
  return sum
}
