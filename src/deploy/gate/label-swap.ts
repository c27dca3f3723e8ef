/**
 * @module
 * The test behind tails: the quantile over all requests of a side, with runs as the unit. Within each pair the labels
 * "baseline" and "candidate" are swapped at random and the ratio of quantiles is computed anew; the share of relabellings
 * at least as extreme as what was seen is the p-value. Exact for any noise, since the order within a pair was drawn by a
 * coin; conservative when a single run carries the tail, which is the honest answer. Assumes a candidate that scales times
 * when testing against an effect other than none.
 */
import { type SeededRandom, seededRandom } from '../seeded-random.js'
import { mergeSides, type PairWeights, quantileLogRatio, sortSide } from './tail-pairs.js'

/** A prepared test: sorting is paid once, each hypothesis costs one merge and the relabellings. */
export interface LabelSwapTest {
  readonly numPairs: number
  /** log(baseline quantile / candidate quantile): positive when the candidate is better. */
  readonly estimate: number
  /** True when "the improvement is at most `effect`" is refuted at level `alpha`. `effect` is a log ratio. */
  refutesAtMost(effect: number, alpha: number): boolean
  /** True when "the improvement is at least `effect`" is refuted. */
  refutesAtLeast(effect: number, alpha: number): boolean
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
  let merged = { effect: 0, sides: unscaled }

  /** Counts relabellings at least as extreme as what was seen, as long as the level leaves room for one more. */
  const refutes = (effect: number, alpha: number, direction: 1 | -1): boolean => {
    if (merged.effect !== effect)
      merged = { effect, sides: mergeSides(first, second, Math.exp(effect)) }
    const ratio = (labels: PairWeights): number =>
      direction * quantileLogRatio(merged.sides, sizes, labels, probability)
    const observed = ratio(asMeasured)
    // The same relabellings for every hypothesis: the bounds are then a step function of the effect, not noise.
    const random = seededRandom(seed)
    const relabelled = weights(numPairs)
    // What was seen is a relabelling too.
    let room = Math.floor(alpha * (relabellings + 1) + 1e-9) - 1
    for (let r = 0; r < relabellings && room >= 0; r++) {
      for (let pair = 0; pair < numPairs; pair++) {
        const swap = random.coin() ? 1 : 0
        relabelled.swapped[pair] = swap
        relabelled.kept[pair] = 1 - swap
      }
      if (ratio(relabelled) >= observed) room--
    }
    return room >= 0
  }
  return {
    numPairs,
    estimate: quantileLogRatio(unscaled, sizes, asMeasured, probability),
    refutesAtMost: (effect, alpha) => refutes(effect, alpha, 1),
    refutesAtLeast: (effect, alpha) => refutes(effect, alpha, -1),
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
