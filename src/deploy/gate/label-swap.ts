/**
 * @module
 * The test behind tails: the quantile over all requests of a side, with runs as the unit. Within each pair the labels
 * "baseline" and "candidate" are swapped at random and the ratio of quantiles is computed anew; the share of relabellings
 * at least as extreme as what was seen is the p-value. Exact for any noise, since the order within a pair was drawn by a
 * coin; conservative when a single run carries the tail, which is the honest answer. Assumes a candidate that scales times
 * when testing against an effect other than none.
 */
import { type SeededRandom, seededRandom } from './seeded-random.js'
import { mergeSides, type PairWeights, quantileLogRatio, sortSide } from './tail-pairs.js'

/** A prepared test: sorting is paid once, each hypothesis costs one merge and the relabellings. */
export interface LabelSwapTest {
  readonly numPairs: number
  /** log(baseline quantile / candidate quantile): positive when the candidate is better. */
  readonly estimate: number
  /** p-value of "the improvement is at most `effect`" (small: it is larger). `effect` is a log ratio. */
  pAtMost(effect: number): number
  /** p-value of "the improvement is at least `effect`" (small: it is smaller). */
  pAtLeast(effect: number): number
  /** The estimate on pairs drawn with replacement, each with its labels as they are or swapped. */
  resample(random: SeededRandom): number
}

/** Prepares the test of quantile `probability` of costs (smaller is better), one array per run. */
export function labelSwapTest(
  baseline: readonly Float64Array[],
  candidate: readonly Float64Array[],
  probability: number,
  options: { readonly relabellings: number; readonly seed: string | number },
): LabelSwapTest {
  const { relabellings, seed } = options
  const numPairs = baseline.length
  const first = sortSide(baseline)
  const second = sortSide(candidate)
  const sizes = {
    first: Int32Array.from(baseline, (run) => run.length),
    second: Int32Array.from(candidate, (run) => run.length),
  }
  const unscaled = mergeSides(first, second, 1)
  const asMeasured = weights(numPairs)
  asMeasured.kept.fill(1)
  const known = new Map<number, { readonly atMost: number; readonly atLeast: number }>()

  const pValues = (effect: number): { readonly atMost: number; readonly atLeast: number } => {
    const before = known.get(effect)
    if (before !== undefined) return before
    const merged = effect === 0 ? unscaled : mergeSides(first, second, Math.exp(effect))
    const observed = quantileLogRatio(merged, sizes, asMeasured, probability)
    // The same relabellings for every hypothesis: the bounds are then a step function of the effect, not noise.
    const random = seededRandom(seed)
    const relabelled = weights(numPairs)
    let larger = 1
    let smaller = 1
    for (let r = 0; r < relabellings; r++) {
      for (let pair = 0; pair < numPairs; pair++) {
        const swap = random.coin() ? 1 : 0
        relabelled.swapped[pair] = swap
        relabelled.kept[pair] = 1 - swap
      }
      const value = quantileLogRatio(merged, sizes, relabelled, probability)
      if (value >= observed) larger++
      if (value <= observed) smaller++
    }
    const result = { atMost: larger / (relabellings + 1), atLeast: smaller / (relabellings + 1) }
    known.set(effect, result)
    return result
  }
  return {
    numPairs,
    estimate: quantileLogRatio(unscaled, sizes, asMeasured, probability),
    pAtMost: (effect) => pValues(effect).atMost,
    pAtLeast: (effect) => pValues(effect).atLeast,
    resample: (random) => {
      const drawn = weights(numPairs)
      for (let i = 0; i < numPairs; i++) {
        const pair = random.below(numPairs)
        const counts = random.coin() ? drawn.swapped : drawn.kept
        counts[pair] = counts[pair]! + 1
      }
      return quantileLogRatio(unscaled, sizes, drawn, probability)
    },
  }
}

function weights(numPairs: number): PairWeights {
  return { kept: new Int32Array(numPairs), swapped: new Int32Array(numPairs) }
}
