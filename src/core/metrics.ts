/**
 * @module
 * What happened so far, per class: attainment over completed requests (the paper's) and over all that arrived, first-response
 * latencies, and how often requests were protected, hidden, lost or held back by a limit.
 */
import { doubles } from './columns.js'
import { LatencyHistogram } from './latency-histogram.js'
import type { ClassTable } from './request-class.js'
import { LOST, PROTECTED } from './request-table.js'

/** Metrics of one class. Fractions are NaN while their denominator is 0. */
export interface ClassMetrics {
  readonly arrived: number
  readonly admitted: number
  /** Got its first response. */
  readonly responded: number
  /** Got its first response by its deadline. */
  readonly met: number
  readonly completed: number
  readonly cancelled: number
  /** Refused before they were admitted. */
  readonly shed: number
  readonly preempted: number
  /** Still in the scheduler. */
  readonly unfinished: number
  /** Completed and met, over completed: the paper's SLO attainment. */
  readonly attainmentOverCompleted: number
  /** Met, over all that arrived: what is unfinished, cancelled or shed counts as missed. */
  readonly attainmentOverArrived: number
  /** First-response latency from arrival, ms. */
  readonly firstResponseMs: {
    readonly mean: number
    readonly p50: number
    readonly p95: number
    readonly p99: number
    readonly max: number
  }
  /** Requests that were ever protected / lost while waiting. */
  readonly everProtected: number
  readonly everLost: number
  /** Sum over steps of the waiting requests that were hidden. */
  readonly hiddenRequestSteps: number
  /** Steps in which a limit held back requests of this class's path. */
  readonly cappedSteps: number
}

export interface Metrics<Name extends string = string> {
  readonly steps: number
  /** Steps whose cap differed from the step before. */
  readonly capChanges: number
  /** Steps in which a downstream stage was active. */
  readonly corunningSteps: number
  readonly classes: Readonly<Record<Name, ClassMetrics>>
}

/** What is counted per class as it happens. */
interface ClassCounters {
  arrived: number
  admitted: number
  responded: number
  met: number
  completed: number
  cancelled: number
  shed: number
  preempted: number
}

export interface MetricsRecorder {
  steps: number
  capChanges: number
  corunningSteps: number
  readonly counters: readonly ClassCounters[]
  /** Completed requests whose first response came in time, per class. */
  readonly metCompleted: Float64Array
  /** See `ClassMetrics`. */
  readonly hiddenRequestSteps: Float64Array
  /** By path. */
  readonly cappedSteps: Float64Array
  readonly latency: readonly LatencyHistogram[]
  /** `ever`: requests that were ever of a status, by `class * 3 + status`. */
  snapshot(ever: Float64Array): Metrics
}

export function createMetricsRecorder({ names, count, path }: ClassTable): MetricsRecorder {
  const counters = names.map(() => ({
    arrived: 0,
    admitted: 0,
    responded: 0,
    met: 0,
    completed: 0,
    cancelled: 0,
    shed: 0,
    preempted: 0,
  }))
  const metCompleted = doubles(count)
  const hiddenRequestSteps = doubles(count)
  const cappedSteps = doubles(2)
  const latency = names.map(() => new LatencyHistogram())
  const recorder: MetricsRecorder = {
    steps: 0,
    capChanges: 0,
    corunningSteps: 0,
    counters,
    metCompleted,
    hiddenRequestSteps,
    cappedSteps,
    latency,
    snapshot(ever) {
      const { steps, capChanges, corunningSteps } = recorder
      const classOf = (c: number): ClassMetrics => {
        const of = counters[c]!
        const ms = latency[c]!
        return {
          ...of,
          unfinished: of.arrived - of.completed - of.cancelled - of.shed,
          attainmentOverCompleted: metCompleted[c]! / of.completed,
          attainmentOverArrived: of.met / of.arrived,
          firstResponseMs: {
            mean: ms.mean,
            p50: ms.quantile(0.5),
            p95: ms.quantile(0.95),
            p99: ms.quantile(0.99),
            max: ms.max,
          },
          everProtected: ever[c * 3 + PROTECTED]!,
          everLost: ever[c * 3 + LOST]!,
          hiddenRequestSteps: hiddenRequestSteps[c]!,
          cappedSteps: cappedSteps[path[c]!]!,
        }
      }
      const classes = Object.fromEntries(names.map((name, c) => [name, classOf(c)]))
      return { steps, capChanges, corunningSteps, classes }
    },
  }
  return recorder
}
