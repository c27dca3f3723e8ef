/**
 * @module
 * What a search minimises, as a list of numbers compared in turn. The same list made of lower bounds prunes.
 */
import type { Score } from './scorer.js'

export interface Objective {
  /**
   * `memory` looks for the placement that oversteps the GPUs' memory least; only for saying what is missing. `corner` is
   * `latency`, where a placement counts with one of its two ends alone: its lowest latency, or its shortest period.
   */
  readonly kind: 'latency' | 'rate' | 'corner' | 'memory'
  /** Longest period allowed, in ms (a floor on the rate). @default unlimited */
  readonly maxPeriodMs?: number
}

/** Compared from left to right. */
export type Key = readonly number[]

/**
 * Rate: period, then first output at that period. Latency: first output, then the period it takes. Both then prefer
 * that events interrupt no stream (`stallMs`), then fewer GPUs.
 */
export function keyOf(objective: Objective, score: Score): Key {
  if (objective.kind === 'memory')
    return [score.excessGiB, score.periodMs, score.firstOutputMs, score.gpus]
  const atItsPeriod = objective.kind === 'rate' || (objective.kind === 'corner' && !score.settled)
  if (objective.kind === 'corner' && atItsPeriod)
    return [score.firstOutputMs, score.periodMs, score.stallMs, score.gpus]
  return atItsPeriod
    ? [score.periodMs, score.firstOutputMs, score.stallMs, score.gpus]
    : [score.latencyMs, score.latencyPeriodMs, score.stallMs, score.gpus]
}

/** Negative when `a` is better. Differences within rounding do not count. */
export function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < a.length; index += 1) {
    const left = a[index]!
    const right = b[index]!
    if (left === right) continue
    // The smaller of the two sets the scale, so that an infinite bound stays worse than any figure.
    const slack = 1e-9 * Math.max(1, Math.min(Math.abs(left), Math.abs(right)))
    if (Math.abs(left - right) > slack) return left - right
  }
  return 0
}
