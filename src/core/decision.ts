/**
 * @module
 * One decision: what a step may see and how many SMs the shared stage may use, taken together from one state. One record per
 * scheduler, reused between steps: read it before the next one, copy what you keep.
 */
import type { View } from './view.js'

export interface Decision {
  /** k, from 0. */
  readonly step: number
  /** Phase of the rotation; `none` for a policy without one. */
  readonly phase: 'short' | 'long' | 'none'
  /** The phase passed to the other path, for lack of ordinary work of its own. */
  readonly passed: boolean
  /** N of the rotation in force; 0 without one. */
  readonly n: number
  /** Handles of the waiting requests that may be admitted, lazily, in the order to try them. */
  readonly view: View
  /** Row of the ladder. */
  readonly level: number
  /** SMs the shared stage may use. */
  readonly capSms: number
  /** SMs left to downstream stages. */
  readonly headroomSms: number
  /** The row differs from that of the step before. */
  readonly changed: boolean
  /** Waiting requests, and how many of them this step hides, counts as protected, counts as lost. */
  readonly waiting: number
  readonly hidden: number
  readonly protected: number
  readonly lost: number
}

export type MutableDecision = { -readonly [K in keyof Decision]: Decision[K] }
