/**
 * @module
 * When requests arrive: renewal processes with independent gaps, and the rescaling of recorded arrivals.
 */
import { HorizonError } from '../../core/errors.js'
import { type Distribution, exponential, gammaOf, weibullOf } from '../distributions.js'
import type { Rng } from '../rng.js'
import { offeredRate } from './workload.js'

/** `cv` is the coefficient of variation of the gaps; 1 is Poisson whatever the law. */
export type ArrivalProcess =
  | { readonly kind: 'poisson' }
  | { readonly kind: 'gamma' | 'weibull'; readonly cv: number }

/** Law of the gaps in ms for a rate in requests per second. */
export function gaps(process: ArrivalProcess, ratePerSecond: number): Distribution {
  const mean = 1000 / checkRate(ratePerSecond)
  if (process.kind === 'poisson') return exponential(mean)
  return process.kind === 'gamma' ? gammaOf(mean, process.cv) : weibullOf(mean, process.cv)
}

/** `count` arrival times in ms; the first gap starts at 0. */
export function drawArrivals(of: Distribution, count: number, rng: Rng): Float64Array {
  const times = new Float64Array(count)
  let now = 0
  for (let i = 0; i < count; i++) {
    now += of.sample(rng)
    times[i] = now
  }
  return times
}

/** Arrival times below `untilMs`. */
export function drawArrivalsUntil(of: Distribution, untilMs: number, rng: Rng): Float64Array {
  const times: number[] = []
  for (let now = of.sample(rng); now < untilMs; now += of.sample(rng)) times.push(now)
  return Float64Array.from(times)
}

/** Stretches recorded arrivals so that their rate becomes `ratePerSecond`; the pattern (bursts, drift) keeps its shape. */
export function rescaleArrivals(arrivalMs: Float64Array, ratePerSecond: number): Float64Array {
  const rate = offeredRate(arrivalMs)
  const factor = Number.isNaN(rate) ? 1 : rate / checkRate(ratePerSecond)
  return arrivalMs.map((time) => time * factor)
}

function checkRate(ratePerSecond: number): number {
  if (ratePerSecond > 0 && ratePerSecond < Infinity) return ratePerSecond
  throw new HorizonError('ERR_SIM_RATE', 'impossible arrival rate', {
    field: 'rate',
    expected: 'a number of requests per second above 0',
    got: ratePerSecond,
  })
}
