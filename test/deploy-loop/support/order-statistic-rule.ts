/**
 * The published rule the gate is compared with: of 60 paired ratios, the 24th and 37th in order are one-sided 95 % bounds of
 * the median ratio (P(Binomial(60, 1/2) <= 23) = 0.046). Judged here against the same minimum effect.
 */

import type { Outcome } from '../../../src/deploy/gate/judge.js'
import {
  costSamples,
  type Metric,
  type PairedRuns,
  PROBABILITY,
  quantile,
} from '../../../src/deploy/gate/metric.js'

export const ORDER_RULE_PAIRS = 60

/** Tails are per-run quantiles here: the rule knows one number per run. */
export function orderStatisticRule(
  pairs: readonly PairedRuns[],
  metric: Metric,
  threshold: number,
): Outcome {
  const effects = pairs
    .map((pair) =>
      Math.log(runValue(pair, 'baseline', metric) / runValue(pair, 'candidate', metric)),
    )
    .sort((a, b) => a - b)
  if (effects[23]! > threshold) return 'accept'
  if (effects[36]! < threshold) return 'reject'
  return 'inconclusive'
}

function runValue(pair: PairedRuns, side: 'baseline' | 'candidate', metric: Metric): number {
  return quantile(costSamples(pair[side], metric), PROBABILITY[metric.statistic])
}
