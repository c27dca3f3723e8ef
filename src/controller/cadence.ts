/**
 * @module
 * When the engine's next question is to be expected. Decode steps come at an even pace, and waking a thread that sleeps takes as long as
 * ten decisions: so the worker sleeps until shortly before the next question, and looks from then on.
 *
 * Mean and mean deviation of the time between questions are kept as TCP keeps those of its round trips (RFC 6298: gains of an eighth and a
 * quarter).
 */

const MEAN_GAIN = 1 / 8
const DEVIATION_GAIN = 1 / 4
/** Looks from so many deviations before the mean until as many after it, and a margin on top, which is what waking takes. */
const DEVIATIONS = 2
const MARGIN_NS = 150_000
/** No more than this share of the time is spent looking; an engine without a pace is not waited for. */
const MAX_SHARE = 0.2
/** Always allowed: questions that follow each other at once. */
const SHORT_NS = 500_000

export interface Cadence {
  /** When to begin to look for the next question, monotonic ns; 0 when there is nothing to expect. */
  readonly fromNs: number
  /** Whether it may come any moment. */
  isDue(nowNs: number): boolean
  /** A question came. */
  asked(nowNs: number): void
}

export function createCadence(): Cadence {
  let last = 0
  let mean = 0
  let deviation = 0
  let untilNs = 0
  const cadence = {
    fromNs: 0,
    isDue: (nowNs: number) => nowNs >= cadence.fromNs && nowNs < untilNs,
    asked(nowNs: number) {
      const took = nowNs - last
      if (last !== 0 && mean === 0) {
        mean = took
        deviation = took / 2
      } else if (last !== 0) {
        deviation += DEVIATION_GAIN * (Math.abs(took - mean) - deviation)
        mean += MEAN_GAIN * (took - mean)
      }
      last = nowNs
      const reach = DEVIATIONS * deviation + MARGIN_NS
      const isPaced = mean > 0 && 2 * reach <= Math.max(SHORT_NS, MAX_SHARE * mean)
      cadence.fromNs = isPaced ? nowNs + mean - reach : 0
      untilNs = isPaced ? nowNs + mean + reach : 0
    },
  }
  return cadence
}
