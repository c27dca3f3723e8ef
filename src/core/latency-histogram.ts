/**
 * @module
 * First-response latencies in log-linear bins, 64 per octave: quantiles within 1.6 %, rounded up, recorded without allocation.
 */
import { doubles } from './columns.js'

const PER_OCTAVE = 64
const MIN_EXPONENT = -6
const NUM_BINS = 40 * PER_OCTAVE

export class LatencyHistogram {
  readonly #bins = new Uint32Array(NUM_BINS)
  readonly #extremes = doubles(2)
  count = 0

  /** @hot */
  record(ms: number): void {
    const log = ms > 0 ? (Math.log2(ms) - MIN_EXPONENT) * PER_OCTAVE : 0
    const bin = log <= 0 ? 0 : log >= NUM_BINS - 1 ? NUM_BINS - 1 : Math.ceil(log)
    this.#bins[bin]! += 1
    this.#extremes[0]! += ms
    if (ms > this.#extremes[1]!) this.#extremes[1] = ms
    this.count += 1
  }

  /** Mean in ms, exact; NaN when empty. */
  get mean(): number {
    return this.#extremes[0]! / this.count
  }

  /** Largest recorded value in ms, exact; 0 when empty. */
  get max(): number {
    return this.#extremes[1]!
  }

  /** Quantile `q` in [0, 1] by nearest rank, ms; NaN when empty. */
  quantile(q: number): number {
    if (this.count === 0) return NaN
    const rank = Math.max(1, Math.ceil(q * this.count))
    let seen = 0
    for (let bin = 0; bin < NUM_BINS; bin++) {
      seen += this.#bins[bin]!
      if (seen >= rank) return Math.min(this.max, 2 ** (MIN_EXPONENT + bin / PER_OCTAVE))
    }
    return this.max
  }
}
