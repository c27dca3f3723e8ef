/**
 * @module
 * What a step knows when filters and the cap controller decide: counts per class, the step number, pressure and downstream
 * activity. Read-only for policies; the scheduler renews it before each step.
 */
import { type ClassTable, LONG } from './request-class.js'
import type { LOST, ORDINARY, PROTECTED } from './request-table.js'

/** Places in `Signals.times`, ms and pressure; a Float64Array so that no double is boxed. */
export const TIME = Object.freeze({ now: 0, pressure: 1, pressureTimestamp: 2 })

export type Status = typeof ORDINARY | typeof PROTECTED | typeof LOST

export class Signals {
  /** k: number of this step, from 0; advances at every engine step, decode-only ones included. */
  step = 0
  readonly classes: ClassTable
  /** Waiting, never admitted requests by `class * 3 + status`. */
  readonly waiting: Int32Array
  /** Requests that wait but must stay visible (preempted, resumed). */
  alwaysVisible = 0
  /** Requests holding a shared-stage slot, per class; and those of them still prefilling. */
  readonly inShared: Int32Array
  readonly inPrefill: Int32Array
  /** Requests admitted as ordinary that hold a shared-stage slot, per class; and those of them still prefilling. */
  readonly ordinaryInShared: Int32Array
  readonly ordinaryInPrefill: Int32Array
  /** Requests that left the shared stage for a downstream one and have not ended. */
  readonly inDownstream: Int32Array
  /** See `TIME`: now in ms, raw pressure in [0, 1] (NaN when none), its timestamp in ms. */
  readonly times = new Float64Array(3)
  /** Whether this step brought a pressure sample with a new timestamp. */
  pressureIsNew = false
  downstreamActive = false
  /** Row of the ladder in force, read back from the actuator; -1 before the first step. */
  appliedLevel = -1

  readonly #byPath = new Int32Array(6)

  constructor(classes: ClassTable, waiting: Int32Array) {
    const column = (): Int32Array => new Int32Array(classes.count)
    this.classes = classes
    this.waiting = waiting
    this.inShared = column()
    this.inPrefill = column()
    this.ordinaryInShared = column()
    this.ordinaryInPrefill = column()
    this.inDownstream = column()
  }

  /** Waiting requests of a path and status. @hot */
  waitingOn(path: number, status: Status): number {
    return this.#byPath[path * 3 + status]!
  }

  /** Sums the waiting requests by path; the scheduler calls it once per step, before the filters. @hot */
  sumByPath(): void {
    const { waiting, classes } = this
    const byPath = this.#byPath
    const { count, path } = classes
    for (let at = 0; at < 6; at++) byPath[at] = 0
    for (let c = 0; c < count; c++) {
      const to = path[c]! * 3
      const from = c * 3
      byPath[to]! += waiting[from]!
      byPath[to + 1]! += waiting[from + 1]!
      byPath[to + 2]! += waiting[from + 2]!
    }
  }

  /** Sum over the classes of a path of one of the per-class counts. @hot */
  sumOn(path: number, counts: Int32Array): number {
    const { count, path: pathOf } = this.classes
    let sum = 0
    for (let c = 0; c < count; c++) if (pathOf[c] === path) sum += counts[c]!
    return sum
  }

  /** Long-path requests between admission and their end: in the shared stage or downstream. @hot */
  longInFlight(): number {
    return this.sumOn(LONG, this.inShared) + this.sumOn(LONG, this.inDownstream)
  }
}
