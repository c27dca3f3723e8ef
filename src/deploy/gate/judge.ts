/**
 * @module
 * The verdict: accept, reject or inconclusive, from paired runs and the declaration, and from nothing else. Accepting needs
 * every primary metric above the minimum effect and every guard above its margin, each at the full level (requiring all of
 * several tests cannot raise the error); rejecting needs one of them shown to fail, so its level is divided by their number.
 */
import type { GateDeclaration } from './declaration.js'
import { type EffectTest, effectTest } from './effect.js'
import { metricName, type PairedRuns } from './metric.js'

export type Outcome = 'accept' | 'reject' | 'inconclusive'

/** One metric's evidence. Shares, not logs: 0.1 is "a tenth less time". Unbounded sides are null (JSON has no infinity). */
export interface MetricEvidence {
  readonly metric: string
  readonly role: 'primary' | 'guard'
  /** Improvement as the share of time saved; negative is a loss. */
  readonly improvement: number
  readonly lower: number | null
  readonly upper: number | null
  /** What the lower bound had to exceed. */
  readonly required: number
  readonly outcome: Outcome
}

export interface Verdict {
  readonly outcome: Outcome
  /** One sentence: which metric decided, or what is not shown. */
  readonly why: string
  readonly pairs: number
  /** One-sided level of the accepting tests. */
  readonly alpha: number
  readonly evidence: readonly MetricEvidence[]
}

export interface JudgeOptions {
  /** Level of this look. */
  readonly alpha: number
  readonly seed: string | number
  /** False leaves the bounds of tails out (null): simulations need the outcome alone. @default true */
  readonly bounds?: boolean
}

/** Judges one look at `pairs`. Deterministic for a seed. */
export function judge(
  pairs: readonly PairedRuns[],
  gate: GateDeclaration,
  options: JudgeOptions,
): Verdict {
  const relabellings = Math.max(gate.relabellings, Math.min(20_000, Math.ceil(10 / options.alpha)))
  const questions = [
    ...gate.primary.map((metric) => ({
      metric,
      role: 'primary' as const,
      required: gate.minimumEffect,
    })),
    ...gate.guards.map((guard) => ({
      metric: guard.metric,
      role: 'guard' as const,
      required: -guard.margin,
    })),
  ]
  const rejectAlpha = options.alpha / questions.length
  const evidence = questions.map(({ metric, role, required }, index): MetricEvidence => {
    const test = effectTest(pairs, metric, { relabellings, seed: `${options.seed}/${index}` })
    const threshold = logEffect(required)
    const outcome = test.above(threshold, options.alpha)
      ? 'accept'
      : test.below(threshold, rejectAlpha)
        ? 'reject'
        : 'inconclusive'
    return {
      metric: metricName(metric),
      role,
      improvement: share(test.estimate)!,
      ...boundsOf(test, options),
      required,
      outcome,
    }
  })
  const failed = evidence.find((item) => item.outcome === 'reject')
  const open = evidence.find((item) => item.outcome === 'inconclusive')
  const outcome = failed ? 'reject' : open ? 'inconclusive' : 'accept'
  return {
    outcome,
    why: explain(outcome, failed ?? open ?? evidence[0]!),
    pairs: pairs.length,
    alpha: options.alpha,
    evidence,
  }
}

/** Log ratio of a share saved: 0.1 less time is log(1 / 0.9). A margin of -0.1 is the mirrored loss. */
export function logEffect(saved: number): number {
  return saved >= 0 ? -Math.log1p(-saved) : Math.log1p(saved)
}

function share(effect: number): number | null {
  if (!Number.isFinite(effect)) return null
  return Number((-Math.expm1(-effect)).toFixed(6))
}

function boundsOf(
  test: EffectTest,
  options: JudgeOptions,
): { lower: number | null; upper: number | null } {
  if (options.bounds === false) return { lower: null, upper: null }
  const { lower, upper } = test.bounds(options.alpha)
  return { lower: share(lower), upper: share(upper) }
}

function explain(outcome: Outcome, item: MetricEvidence): string {
  const percent = (value: number | null): string =>
    value === null ? 'unbounded' : `${(100 * value).toFixed(1)} %`
  const range = `estimate ${percent(item.improvement)}, bounds ${percent(item.lower)} to ${percent(item.upper)}`
  if (outcome === 'accept')
    return `${item.metric} improves by more than ${percent(item.required)} (${range})`
  if (outcome === 'reject')
    return item.role === 'primary'
      ? `${item.metric} does not improve by ${percent(item.required)} (${range})`
      : `${item.metric} gets worse by more than ${percent(-item.required)} (${range})`
  return `${item.metric} is not shown to be above ${percent(item.required)} (${range})`
}
