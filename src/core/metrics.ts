/**
 * @module
 * What happened so far, per class: attainment over completed requests (the paper's) and over all that arrived, first-response
 * latencies, and how often requests were protected, hidden, lost or held back by a limit.
 */
import { LatencyHistogram } from './latency-histogram.js'
import type { ClassTable } from './request-class.js'

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
  readonly preempted: number
  /** Still in the scheduler. */
  readonly unfinished: number
  /** Completed and met, over completed: the paper's SLO attainment. */
  readonly attainmentOverCompleted: number
  /** Met, over all that arrived: what is unfinished or cancelled counts as missed. */
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

export class MetricsRecorder {
  readonly arrived: Float64Array
  readonly admitted: Float64Array
  readonly responded: Float64Array
  readonly met: Float64Array
  readonly metCompleted: Float64Array
  readonly completed: Float64Array
  readonly cancelled: Float64Array
  readonly preempted: Float64Array
  readonly hiddenRequestSteps: Float64Array
  readonly cappedSteps: Float64Array
  readonly latency: readonly LatencyHistogram[]
  steps = 0
  capChanges = 0
  corunningSteps = 0
  readonly #classes: ClassTable

  constructor(classes: ClassTable) {
    const column = (): Float64Array => new Float64Array(classes.count)
    this.#classes = classes
    this.arrived = column()
    this.admitted = column()
    this.responded = column()
    this.met = column()
    this.metCompleted = column()
    this.completed = column()
    this.cancelled = column()
    this.preempted = column()
    this.hiddenRequestSteps = column()
    this.cappedSteps = column()
    this.latency = Array.from({ length: classes.count }, () => new LatencyHistogram())
  }

  snapshot(everProtected: Float64Array, everLost: Float64Array): Metrics {
    const classes: Record<string, ClassMetrics> = {}
    for (const [c, name] of this.#classes.names.entries()) {
      const latency = this.latency[c]!
      classes[name] = {
        arrived: this.arrived[c]!,
        admitted: this.admitted[c]!,
        responded: this.responded[c]!,
        met: this.met[c]!,
        completed: this.completed[c]!,
        cancelled: this.cancelled[c]!,
        preempted: this.preempted[c]!,
        unfinished: this.arrived[c]! - this.completed[c]! - this.cancelled[c]!,
        attainmentOverCompleted: this.metCompleted[c]! / this.completed[c]!,
        attainmentOverArrived: this.met[c]! / this.arrived[c]!,
        firstResponseMs: {
          mean: latency.mean,
          p50: latency.quantile(0.5),
          p95: latency.quantile(0.95),
          p99: latency.quantile(0.99),
          max: latency.max,
        },
        everProtected: everProtected[c]!,
        everLost: everLost[c]!,
        hiddenRequestSteps: this.hiddenRequestSteps[c]!,
        cappedSteps: this.cappedSteps[c]!,
      }
    }
    return {
      steps: this.steps,
      capChanges: this.capChanges,
      corunningSteps: this.corunningSteps,
      classes,
    }
  }
}
