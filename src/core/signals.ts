/**
 * @module
 * What a step knows when filters and the cap controller decide: counts per class, the step number, pressure and downstream
 * activity. Read-only for policies; the scheduler renews it before each step.
 */
import { doubles, integers } from './columns.js'
import { type ClassTable, LONG } from './request-class.js'
import type { LOST, ORDINARY, PROTECTED } from './request-table.js'
import type { WaitingSet } from './waiting-set.js'

/** Places in `Signals.times`, ms and pressure; a Float64Array so that no double is boxed. */
export const TIME = Object.freeze({ now: 0, pressure: 1, pressureTimestamp: 2 })

export type Status = typeof ORDINARY | typeof PROTECTED | typeof LOST

export interface Signals {
  /** k: number of this step, from 0; advances at every engine step, decode-only ones included. */
  step: number
  readonly classes: ClassTable
  /** Waiting, never admitted requests by `class * 3 + status`. */
  readonly waiting: Int32Array
  /** The same by `path * 3 + status`. */
  readonly waitingByPath: Int32Array
  /** Requests that wait but must stay visible (preempted, resumed). */
  alwaysVisible: number
  /** Requests holding a shared-stage slot, per class; and those of them still prefilling. */
  readonly inShared: Int32Array
  readonly inPrefill: Int32Array
  /** Requests admitted as ordinary that hold a shared-stage slot, per class; and those of them still prefilling. */
  readonly ordinaryInShared: Int32Array
  readonly ordinaryInPrefill: Int32Array
  /** Requests that are decoded and still hold their slot until the next stage takes them; counted in `inShared` too. */
  readonly handedOver: Int32Array
  /** Requests that left the shared stage for a downstream one and have not ended. */
  readonly inDownstream: Int32Array
  /** See `TIME`: now in ms, raw pressure in [0, 1] (NaN when none), its timestamp in ms. */
  readonly times: Float64Array
  /** Whether this step brought a pressure sample with a new timestamp. */
  pressureIsNew: boolean
  downstreamActive: boolean
  /** Row of the ladder in force, read back from the actuator; -1 before the first step. */
  appliedLevel: number
  /** Waiting requests of a path and status. @hot */
  waitingOn(path: number, status: Status): number
  /** All of them. @hot */
  numWaiting(): number
  /** Sum over the classes of a path of one of the per-class counts. @hot */
  sumOn(path: number, counts: Int32Array): number
  /** Long-path requests between admission and their end: in the shared stage or downstream. @hot */
  longInFlight(): number
  /** How long the longest-waiting request of a path has waited, ms; 0 when none waits. Preempted and pinned ones are not among them. */
  oldestWaitMs(path: number): number
  /** How long the deadline of a path's lost request with the earliest one has passed, ms (negative before it); -Infinity without one. */
  latenessMs(path: number): number
}

/** What the signals read of the waiting requests. */
export type WaitingSignals = Pick<WaitingSet, 'counts' | 'byPath' | 'oldestMs' | 'earliestLostMs'>

export function createSignals(
  classes: ClassTable,
  { counts: waiting, byPath, oldestMs, earliestLostMs }: WaitingSignals,
): Signals {
  const { count, ofPath } = classes
  const signals: Signals = {
    step: 0,
    classes,
    waiting,
    waitingByPath: byPath,
    alwaysVisible: 0,
    inShared: integers(count),
    inPrefill: integers(count),
    ordinaryInShared: integers(count),
    ordinaryInPrefill: integers(count),
    handedOver: integers(count),
    inDownstream: integers(count),
    times: doubles(3),
    pressureIsNew: false,
    downstreamActive: false,
    appliedLevel: -1,
    waitingOn: (onPath, status) => byPath[onPath * 3 + status]!,
    numWaiting: () => byPath[0]! + byPath[1]! + byPath[2]! + byPath[3]! + byPath[4]! + byPath[5]!,
    sumOn(onPath, counts) {
      const members = ofPath[onPath]!
      let sum = 0
      for (let k = 0; k < members.length; k++) sum += counts[members[k]!]!
      return sum
    },
    longInFlight: () =>
      signals.sumOn(LONG, signals.inShared) + signals.sumOn(LONG, signals.inDownstream),
    oldestWaitMs: (onPath) => Math.max(0, signals.times[TIME.now]! - oldestMs(onPath)),
    latenessMs: (onPath) => signals.times[TIME.now]! - earliestLostMs(onPath),
  }
  return signals
}
