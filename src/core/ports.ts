/**
 * @module
 * The ports: what can be replaced, one or two verbs each. The core calls them in this order once per step:
 * `PressureSource.sample` → every `ViewFilter.filter` → `CapController.cap` → `Actuator.apply`. `Profiler` is called at arrival and
 * by `explain`. None of them may keep what it is handed beyond the call: records are reused.
 */
import type { Groups } from './groups.js'
import type { Ladder } from './ladder.js'
import type { Signals } from './signals.js'

/** Places in the `inputs` of a `Profiler`. */
export const INPUT = Object.freeze({ promptTokens: 0, audioSeconds: 1, images: 2, videos: 3 })
/** Places in the `out` of `Profiler.annotate`. All in ms of solo time. */
export const WORK = Object.freeze({
  /** Shared stage, encoders included, up to the first response (short path) or to the hand-over (long path). */
  shared: 0,
  /** Downstream stages up to the first response; 0 on the short path. */
  downstream: 1,
  /** How long the request occupies its downstream stage, first response or not; 0 on the short path. */
  downstreamBusy: 2,
})

/** Offline profiles: what a request would take alone (paper, section 4.2). */
export interface Profiler {
  /** Writes solo times in ms to `out` (see `WORK`) for a request of this class with these `inputs` (see `INPUT`). @hot */
  annotate(classIndex: number, inputs: Float64Array, out: Float64Array): void
  /** Solo ms left of `workMs` in the shared stage after this much progress; used by `explain`, never per step. */
  remaining(
    workMs: number,
    promptTokens: number,
    prefillTokensDone: number,
    decodeTokensDone: number,
  ): number
}

/** One half of the view: restricts what a step may see, in groups of (path or class, status). @hot */
export interface ViewFilter {
  readonly name: string
  filter(signals: Signals, groups: Groups): void
}

/** The base order in which a view is read. Ties always fall to the arrival sequence. */
export type Order =
  | { readonly name: string; readonly kind: 'arrival' }
  | { readonly name: string; readonly kind: 'deadline' }
  | {
      readonly name: string
      readonly kind: 'key'
      /** Lower goes first. Constant for requests of one class, SLO and estimate. */
      readonly key: (list: {
        readonly classIndex: number
        readonly priority: number
        readonly sloMs: number
        readonly workMs: number
      }) => number
      /** By how much the key of a waiting request falls per ms that it has waited: ageing. @default 0 */
      readonly ageing?: number
    }

/** Chooses the row of the ladder for this step (paper, section 4.4). The only place where pressure is smoothed. @hot */
export interface CapController {
  readonly name: string
  /** Row index into `ladder.sms`. */
  cap(signals: Signals, ladder: Ladder): number
  /** Smoothed pressure in [0, 1] for display; NaN before the first sample. */
  smoothed(): number
}

/** Puts a cap into force. */
export interface Actuator {
  readonly name: string
  /** Applies a row of the ladder; called when the row changes. */
  apply(level: number): void
  /** The row in force, which may not be the one asked for. */
  readBack(): number
}

/** One reading of memory pressure. Written in place by the source. */
export interface PressureSample {
  /** In [0, 1]. */
  value: number
  /** What was measured, for example `memory-activity` or `dram-bandwidth`; a saturation belongs to a kind. */
  kind: string
  /** When the hardware renewed it, ms on the scheduler's clock. */
  timestampMs: number
  source: string
}

/** Where pressure comes from. */
export interface PressureSource {
  readonly name: string
  /** Writes the newest reading to `out`; false when there is none (yet). Never throws, never smooths. */
  sample(out: PressureSample): boolean
}

/** A runtime's own scheduler, as the in-process adapter sees it. */
export interface BaseScheduler<Batch> {
  schedule(): Batch
}

/** When a waiting request counts as protected or lost. */
export interface UrgencyRule {
  /** Protected when `deadline - t < uGuard * r`; 0 switches protection off. */
  readonly uGuard: number
  /** Lost when `deadline - t < uLost * r`; 0 means that nothing is ever lost. At most `uGuard` where both are on. */
  readonly uLost: number
  /** Whether `r` includes the expected wait for a downstream stage. */
  readonly downstreamWait: boolean
  /**
   * A long-path request whose deadline has passed: `protected` for ever, or `lost`, however small `uLost` is. What was admitted as
   * lost by this rule counts as admitted as ordinary. @default 'protected'
   */
  readonly longOverdue?: 'protected' | 'lost'
}

/** A complete policy: what `createScheduler` composes. Every part can be replaced alone. */
export interface Policy {
  readonly name: string
  readonly urgency: UrgencyRule
  /** Made anew for every scheduler, for filters keep state. */
  readonly filters: () => readonly ViewFilter[]
  readonly order: Order
  readonly cap: () => CapController
  /** A phase with nothing ordinary to run may pass to the other path; a view is never empty while everything is idle and work waits. */
  readonly workConserving: boolean
  /** Whether a request that is lost, on arrival or later, is refused by the step that finds it so (event `shed`). @default false */
  readonly sheds?: boolean
}
