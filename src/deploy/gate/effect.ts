/**
 * @module
 * The effect of a candidate on one metric: an estimate, one-sided bounds, and the two questions the verdict asks.
 * Effects are log ratios of costs (baseline over candidate): positive is better, and times and rates read alike.
 */
import { HorizonError } from '../../core/errors.js'
import type { SeededRandom } from '../seeded-random.js'
import { type LabelSwapTest, labelSwapTest } from './label-swap.js'
import {
  costSamples,
  isPooled,
  type Metric,
  metricName,
  type PairedRuns,
  PROBABILITY,
  quantile,
  samplesNeeded,
} from './metric.js'
import { boundsFrom, locationBounds, walshAverages } from './signed-rank.js'

export interface EffectTest {
  readonly metric: Metric
  /** Log ratio, positive is better. */
  readonly estimate: number
  /** True when, at level `alpha`, the improvement is larger than `effect` (a log ratio; negative asks about harm). */
  above(effect: number, alpha: number): boolean
  /** True when, at level `alpha`, the improvement is smaller than `effect`. */
  below(effect: number, alpha: number): boolean
  /** One-sided bounds each way at level `alpha`, for the report. */
  bounds(alpha: number): { readonly lower: number; readonly upper: number }
  /** Pairs that `resample` draws: at most as many as there are. */
  readonly resampledPairs: number
  /** The estimate on pairs drawn with replacement and relabelled at random: the noise of "no effect". */
  resample(random: SeededRandom): number
}

export interface EffectOptions {
  /** Relabellings of a tail test. */
  readonly relabellings: number
  readonly seed: string | number
}

/** Prepares the test of `metric` over `pairs`. */
export function effectTest(
  pairs: readonly PairedRuns[],
  metric: Metric,
  options: EffectOptions,
): EffectTest {
  const baseline = pairs.map((pair) => costSamples(pair.baseline, metric))
  const candidate = pairs.map((pair) => costSamples(pair.candidate, metric))
  requireSamples(metric, baseline, candidate)
  return isPooled(metric.statistic)
    ? pooledTest(metric, labelSwapTest(baseline, candidate, PROBABILITY[metric.statistic], options))
    : perRunTest(metric, baseline, candidate)
}

function perRunTest(
  metric: Metric,
  baseline: readonly Float64Array[],
  candidate: readonly Float64Array[],
): EffectTest {
  const probability = PROBABILITY[metric.statistic]
  const differences = baseline.map((run, i) =>
    Math.log(quantile(run, probability) / quantile(candidate[i]!, probability)),
  )
  const averages = walshAverages(differences)
  const bounds = (alpha: number) => boundsFrom(averages, differences.length, alpha)
  const resampledPairs = Math.min(differences.length, MOST_RESAMPLED)
  return {
    metric,
    resampledPairs,
    estimate: bounds(0.05).estimate,
    above: (effect, alpha) => bounds(alpha).lower > effect,
    below: (effect, alpha) => bounds(alpha).upper < effect,
    bounds,
    resample: (random) =>
      locationBounds(
        Array.from({ length: resampledPairs }, () => {
          const drawn = differences[random.below(differences.length)]!
          return random.coin() ? drawn : -drawn
        }),
        0.05,
      ).estimate,
  }
}

/** The spread of a Hodges-Lehmann estimate per pair is that of many pairs from here on; its cost grows with their square. */
const MOST_RESAMPLED = 50

function pooledTest(metric: Metric, test: LabelSwapTest): EffectTest {
  return {
    metric,
    resampledPairs: test.numPairs,
    estimate: test.estimate,
    above: (effect, alpha) => test.refutesAtMost(effect, alpha),
    below: (effect, alpha) => test.refutesAtLeast(effect, alpha),
    bounds: (alpha) => ({
      lower: invert(test.estimate, -1, (effect) => test.refutesAtMost(effect, alpha)),
      upper: invert(test.estimate, 1, (effect) => test.refutesAtLeast(effect, alpha)),
    }),
    resample: (random) => test.resample(random),
  }
}

/** The effect nearest to `from` in `direction` that the test refuses, to a thousandth; infinite when it refuses none. */
function invert(from: number, direction: 1 | -1, refused: (effect: number) => boolean): number {
  let inside = 0
  let outside = 0.02
  while (!refused(from + direction * outside)) {
    inside = outside
    outside *= 2
    if (outside > 6) return direction * Infinity
  }
  while (outside - inside > 5e-4) {
    const middle = (inside + outside) / 2
    if (refused(from + direction * middle)) outside = middle
    else inside = middle
  }
  return from + direction * outside
}

function requireSamples(metric: Metric, ...sides: readonly (readonly Float64Array[])[]): void {
  const needed = samplesNeeded(metric.statistic)
  const pooled = isPooled(metric.statistic)
  for (const side of sides) {
    const sizes = side.map((run) => run.length)
    const got = pooled ? sizes.reduce((sum, size) => sum + size, 0) : Math.min(...sizes)
    if (got >= needed) continue
    throw new HorizonError('ERR_DEPLOY_GATE_SHORT_TAIL', 'too few samples for this quantile', {
      field: metricName(metric),
      expected: `at least ${needed} ${pooled ? 'over all runs of a side' : 'in every run'}`,
      got,
      hint: 'Drive more requests per run, declare more pairs, or judge a lower quantile',
    })
  }
}
