/**
 * @module
 * The lines of a recording: JSON, one value a line. An object opens a section, which is one scheduler from its start; arrays are what
 * happened to it, in order. Numbers are written as JSON does, which brings every double back as it was; what is not finite is `null`.
 * Nothing in it says what a request holds: sizes, times and handles only, no ids.
 */
import type { HorizonConfig } from '../config.js'

export const RECORDING_VERSION = 1

/** Opens a section. */
export interface SectionHeader {
  readonly horizonserve: 'recording'
  readonly version: number
  readonly config: HorizonConfig
  /** What the configuration does not say and the replay must be given again: a policy of the program's own, by its name. */
  readonly policy: string | null
  /** Whether a pressure source was sampled, and whether an actuator was read back: their answers are recorded. */
  readonly source: boolean
  readonly actuator: boolean
  /** Wall clock at the start, ISO 8601. */
  readonly startedAt: string
}

/** First places of the lines. What follows them is in `recorded-scheduler.ts`, where they are written. */
export const LINE = Object.freeze({
  /** handle, now, class, promptTokens, audioSeconds, images, videos, own SLO or 0, checked (1) or hot (0). */
  arrive: 'a',
  /** now, downstreamActive (1, 0, -1 not given), pressure (4), applied level, decision (9), verdict. */
  step: 's',
  /** Handles that were taken from the view, in order; 0 at its end. */
  take: 'v',
  /** The view is read from its start. */
  iterate: 'i',
  /** A question that settled whom a limit or a rescue picks: handle, answer. */
  ask: 'c',
  /** The clock cell was moved without a call: now. */
  clock: 't',
  /** A transition: its name, its arguments. */
  call: 'e',
  /** The recording ends here, and why. */
  end: 'z',
})

/** Where the pressure of a step came from. */
export const PRESSURE = Object.freeze({ none: 0, given: 1, sampled: 2, silent: 3 })

/** Transitions that a recording repeats by name. Every method that changes a scheduler is here or has a line of its own. */
export const CALLS = [
  'admit',
  'progress',
  'preempt',
  'pin',
  'handedOver',
  'enterDownstream',
  'firstResponse',
  'finish',
  'cancel',
  'shed',
  'setSlowdown',
] as const

export type CallName = (typeof CALLS)[number]

export type RecordedValue = string | number | null
export type RecordedLine = readonly [kind: string, ...RecordedValue[]]

/** A number as JSON can hold it. */
export function held(value: number): number | null {
  return Number.isFinite(value) ? value : null
}

/** Back again: what was not finite compares like NaN wherever the core looks at it. */
export function unheld(value: RecordedValue | undefined): number {
  return typeof value === 'number' ? value : Number.NaN
}
