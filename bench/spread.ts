/**
 * @module
 * Turning single timed samples into p50, p99 and max; and what the timer itself costs.
 */
import type { Spread } from './bench.js'

/** Sorts `samples` in place. Nearest rank; ns, rounded. */
export function spreadOf(samples: Float64Array): Spread {
  samples.sort()
  const at = (q: number): number =>
    Math.round(samples[Math.min(samples.length - 1, Math.ceil(q * samples.length) - 1)]!)
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Two readings of the clock with nothing between them, ns: part of every single-sample figure, not subtracted from any. */
export function timerCost(samples = 100_000): Spread {
  const taken = new Float64Array(samples)
  for (let i = 0; i < samples; i++) {
    const start = process.hrtime.bigint()
    taken[i] = Number(process.hrtime.bigint() - start)
  }
  return spreadOf(taken)
}
