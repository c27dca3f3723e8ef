/**
 * @module
 * What a scheduler is made of, and what a request and a pressure reading bring.
 */
import type { EstimateOptions } from './estimates.js'
import type { LadderSpec } from './ladder.js'
import type { Actuator, Policy, PressureSource, Profiler } from './ports.js'
import type { ClassSpec } from './request-class.js'

export interface SchedulerOptions<Name extends string = string> {
  readonly classes: readonly ClassSpec<Name>[]
  readonly profiler: Profiler
  readonly policy: Policy
  /** Without one, the cap is nominal and nothing is applied. */
  readonly ladder?: LadderSpec
  readonly actuator?: Actuator
  /** Sampled in each step that is given no pressure. */
  readonly pressureSource?: PressureSource
  readonly estimates?: Partial<EstimateOptions>
  readonly capacity?: {
    /** Rows made at construction; the table grows by chunks of 16,384. @default 0 */
    readonly initialRequests?: number
    /** Most requests held at once. Handles have 31 bits: 2^20 rows leave 2,047 generations per slot. @default 1048576 */
    readonly maxRequests?: number
    /**
     * How many lists a class keeps for SLOs of single requests. Beyond, SLOs share buckets of eight per octave and are scheduled by the
     * strict side of theirs; whether one was met is always judged by its own. @default 64
     */
    readonly ownSlos?: number
  }
}

/** What a request brings. Inputs that are left out count as none. */
export interface ArrivingRequest<Name extends string = string> {
  readonly class: Name
  readonly promptTokens?: number
  readonly audioSeconds?: number
  readonly images?: number
  readonly videos?: number
  /** External name; must not be in use. */
  readonly id?: string
  /** Own first-response SLO in ms instead of that of the class. */
  readonly sloMs?: number
}

/** A reading with its own timestamp, for a caller that samples itself. A bare number counts as new in each step. */
export interface PressureReading {
  readonly value: number
  readonly timestampMs: number
}
