/**
 * @module
 * The pilot: the baseline against itself, to learn the noise floor before anything is claimed. From its spread follow the
 * number of pairs a stage needs and the smallest improvement the budget of pairs can show. Pilot runs are never evidence, so
 * that a pilot may look at itself and go on, or be made anew, without a price.
 */

import { seededRandom } from '../seeded-random.js'
import type { GateDeclaration } from './declaration.js'
import { effectTest } from './effect.js'
import { logEffect } from './judge.js'
import { type Metric, metricName, type PairedRuns } from './metric.js'
import { normalQuantile } from './normal.js'

export interface PilotMetric {
  readonly metric: string
  /** Standard deviation of the effect's estimate if it came from one pair, as a log ratio; an upper 80 % limit. */
  readonly sigma: number
  /** Pairs needed for the declared power at the declared effect. */
  readonly neededPairs: number
  /** Smallest improvement (share of time saved) shown with the declared power by the pairs taken. */
  readonly detectable: number
}

export interface PilotReport {
  readonly pilotPairs: number
  /** Pairs that the worst metric needs. */
  readonly wanted: number
  /** Pairs of each stage: what is wanted, within the declared limits. */
  readonly pairs: number
  /** False when the limit cut it: improvements below `detectable` will then mostly stay inconclusive. */
  readonly enough: boolean
  readonly metrics: readonly PilotMetric[]
}

const RESAMPLES = 200

/** Sizes a stage at level `alpha` from `pilot`, paired runs of the baseline with itself. */
export function sizeFromPilot(
  pilot: readonly PairedRuns[],
  gate: GateDeclaration,
  alpha: number,
  seed: string | number,
): PilotReport {
  const questions: readonly { metric: Metric; distance: number; threshold: number }[] = [
    ...gate.primary.map((metric) => ({
      metric,
      distance: logEffect(gate.detectEffect) - logEffect(gate.minimumEffect),
      threshold: logEffect(gate.minimumEffect),
    })),
    // A guard is sized for a candidate that leaves it as it was.
    ...gate.guards.map((guard) => ({
      metric: guard.metric,
      distance: -logEffect(-guard.margin),
      threshold: logEffect(-guard.margin),
    })),
  ]
  const z = normalQuantile(1 - alpha * gate.looks.at(-1)!.spend) + normalQuantile(gate.power)
  const spreads = questions.map(({ metric }) =>
    sigmaOf(pilot, metric, `${seed}/${metricName(metric)}`),
  )
  const needed = questions.map(({ distance }, i) => Math.ceil(((z * spreads[i]!) / distance) ** 2))
  const wanted = Math.max(gate.minPairs, smallestSample(alpha * gate.looks[0]!.spend), ...needed)
  const pairs = Math.min(wanted, gate.maxPairs)
  return {
    pilotPairs: pilot.length,
    wanted,
    pairs,
    enough: wanted <= gate.maxPairs,
    metrics: questions.map(({ metric, threshold }, i) => ({
      metric: metricName(metric),
      sigma: Number(spreads[i]!.toPrecision(6)),
      neededPairs: needed[i]!,
      detectable: Number(
        (-Math.expm1(-(threshold + (z * spreads[i]!) / Math.sqrt(pairs)))).toFixed(6),
      ),
    })),
  }
}

/**
 * Pairs that a pilot should have: a quarter of what it asks for. A short pilot of bursty noise often sees no burst, and its
 * stage would be too short.
 */
export function pilotLength(report: PilotReport, gate: GateDeclaration): number {
  return Math.min(MAX_PILOT_PAIRS, Math.ceil(PILOT_SHARE * Math.min(report.wanted, gate.maxPairs)))
}

const PILOT_SHARE = 0.25
const MAX_PILOT_PAIRS = 200

/**
 * Why a stage would be in vain, or undefined: even an improvement of `worth` (a share), the one that is promised, would mostly
 * stay inconclusive with all the pairs that are allowed.
 */
export function refusal(
  report: PilotReport,
  gate: GateDeclaration,
  worth: number,
): string | undefined {
  const hopeless = report.metrics
    .filter((item) => item.detectable > Math.max(worth, gate.detectEffect))
    .toSorted((a, b) => b.neededPairs - a.neededPairs)[0]
  if (report.enough || hopeless === undefined) return undefined
  const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`
  return `too noisy: ${hopeless.metric} needs ${hopeless.neededPairs} pairs to show ${percent(gate.detectEffect)}, ${gate.maxPairs} are allowed and show ${percent(hopeless.detectable)} at best (pilot of ${report.pilotPairs} pairs)`
}

/** Spread per pair: bootstrap over pairs of the very estimator the verdict uses, raised to its upper 80 % limit. */
function sigmaOf(pilot: readonly PairedRuns[], metric: Metric, seed: string): number {
  const random = seededRandom(`pilot/${seed}`)
  const test = effectTest(pilot, metric, { relabellings: 0, seed: 0 })
  const estimates = Array.from({ length: RESAMPLES }, () => test.resample(random))
  const mean = estimates.reduce((sum, x) => sum + x, 0) / RESAMPLES
  const variance = estimates.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (RESAMPLES - 1)
  return Math.sqrt(variance * test.resampledPairs) * upperLimitFactor(pilot.length - 1)
}

/** sqrt(df / chi-square quantile 0.2), Wilson and Hilferty's approximation: a small pilot often shows too little noise. */
function upperLimitFactor(df: number): number {
  const c = 2 / (9 * df)
  return (1 - c + normalQuantile(0.2) * Math.sqrt(c)) ** -1.5
}

/** Fewest pairs with which a signed-rank bound exists at all: 2^-n must not exceed the level. */
function smallestSample(alpha: number): number {
  return Math.ceil(Math.log2(1 / alpha))
}
