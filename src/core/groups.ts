/**
 * @module
 * The verdict of one step. Filters speak of groups, (path, status), and say `hide`, `limit`, `exempt` or `demote`; what wins is
 * fixed and does not depend on the order of filters: lost > exempt > limit > hide.
 *
 * - A lost group that was demoted comes after everything else, whatever the phase.
 * - An exempt group is visible: neither hidden nor limited, nor counted by a limit.
 * - A limited group shows at most `n`, the earliest deadlines; a hidden one shows none. Both may hold.
 */
import type { ClassTable } from './request-class.js'
import { LOST, ORDINARY, PROTECTED } from './request-table.js'
import type { Signals, Status } from './signals.js'

const HIDE = 1
const PASSABLE = 2
const LIMIT = 4
const EXEMPT = 8
const DEMOTE = 16

/** How a group is shown once all filters have spoken. */
export const HIDDEN = 0
export const SHOWN = 1
export const LIMITED = 2

export class Groups {
  /** Phase that a rotation declared: `SHORT`, `LONG`, or -1 when there is none. */
  phase = -1
  /** N of the rotation in force; 0 when there is none. */
  n = 0
  /** Whether the phase passed to the other path, for lack of work of its own. */
  passed = false
  /** `HIDDEN`, `SHOWN` or `LIMITED` by `class * 3 + status`, once resolved. */
  readonly verdict: Uint8Array
  /** Most that may be shown by `path * 3 + status`; -1 without a limit. */
  readonly limits = new Int32Array(6)
  /** Whether the lost request with the earliest deadline is shown first in this step. */
  rescues = false
  /** What was said by `path * 3 + status`, and the same for one class. */
  readonly #marks = new Uint8Array(6)
  readonly #classMarks: Uint8Array
  #hasClassMarks = false
  readonly #classes: ClassTable

  constructor(classes: ClassTable) {
    this.#classes = classes
    this.#classMarks = new Uint8Array(classes.count * 3)
    this.verdict = new Uint8Array(classes.count * 3)
  }

  /** Forgets the last step. @hot */
  reset(): void {
    this.phase = -1
    this.n = 0
    this.passed = false
    this.rescues = false
    for (let at = 0; at < 6; at++) {
      this.#marks[at] = 0
      this.limits[at] = -1
    }
    if (!this.#hasClassMarks) return
    this.#hasClassMarks = false
    this.#classMarks.fill(0)
  }

  /** Hides every waiting request of a path. A `passable` hide is lifted when the step would have nothing ordinary to run. @hot */
  hide(path: number, passable: boolean): void {
    const bits = passable ? HIDE | PASSABLE : HIDE
    this.#mark(path, ORDINARY, bits)
    this.#mark(path, PROTECTED, bits)
    this.#mark(path, LOST, bits)
  }

  /** Hides one status of one class. @hot */
  hideClass(classIndex: number, status: Status): void {
    this.#classMarks[classIndex * 3 + status] = HIDE
    this.#hasClassMarks = true
  }

  /** Shows at most `n` of a group, earliest deadlines first; the smallest of several limits holds. @hot */
  limit(path: number, status: typeof ORDINARY | typeof LOST, n: number): void {
    const at = path * 3 + status
    const before = this.limits[at]!
    this.limits[at] = before === -1 || n < before ? n : before
    this.#mark(path, status, LIMIT)
  }

  /** Shows a group whatever else is said. @hot */
  exempt(path: number, status: Status): void {
    this.#mark(path, status, EXEMPT)
  }

  /** Puts lost requests of a path after everything else, shown in either phase, at most `n` of them (-1: all). @hot */
  demote(path: number, n: number): void {
    this.#mark(path, LOST, DEMOTE)
    if (n >= 0) this.limit(path, LOST, n)
  }

  /** Shows the lost request with the earliest deadline before all others in this step. @hot */
  rescue(): void {
    this.rescues = true
  }

  /**
   * Settles the verdict. With `workConserving`, lifts passable hides when nothing ordinary of the declared phase can run, and
   * shows everything when nothing would be visible although nothing runs anywhere. @hot
   */
  resolve(signals: Signals, workConserving: boolean): void {
    this.#settle()
    if (!workConserving) return
    if (this.phase !== -1 && !this.#showsOrdinary(signals)) {
      this.passed = true
      for (let at = 0; at < 6; at++) {
        if ((this.#marks[at]! & PASSABLE) !== 0) this.#marks[at]! &= ~(HIDE | PASSABLE)
      }
      this.#settle()
    }
    if (this.#isIdle(signals) && this.#showsNothing(signals)) this.verdict.fill(SHOWN)
  }

  #settle(): void {
    const { verdict } = this
    const classes = this.#classes
    const { count, path } = classes
    for (let c = 0; c < count; c++) {
      const from = path[c]! * 3
      const at = c * 3
      verdict[at] = verdictOf(this.#marks[from]!)
      verdict[at + 1] = verdictOf(this.#marks[from + 1]!)
      verdict[at + 2] = verdictOf(this.#marks[from + 2]!)
    }
    if (!this.#hasClassMarks) return
    for (let c = 0; c < count; c++) {
      for (let status = 0; status < 3; status++) {
        const at = c * 3 + status
        if (this.#classMarks[at] !== 0)
          verdict[at] = verdictOf(this.#marks[path[c]! * 3 + status]! | this.#classMarks[at]!)
      }
    }
  }

  #showsOrdinary(signals: Signals): boolean {
    const { count, path } = this.#classes
    for (let c = 0; c < count; c++) {
      if (signals.waiting[c * 3 + ORDINARY] === 0) continue
      const verdict = this.verdict[c * 3 + ORDINARY]
      if (verdict === SHOWN) return true
      if (verdict === LIMITED && this.limits[path[c]! * 3 + ORDINARY]! > 0) return true
    }
    return false
  }

  #showsNothing(signals: Signals): boolean {
    if (signals.alwaysVisible > 0) return false
    const { count, path } = this.#classes
    let waits = false
    for (let at = 0; at < count * 3; at++) {
      if (signals.waiting[at] === 0) continue
      waits = true
      const verdict = this.verdict[at]
      if (verdict === SHOWN) return false
      if (verdict === LIMITED && this.limits[path[(at / 3) | 0]! * 3 + (at % 3)]! > 0) return false
    }
    return waits && !this.rescues
  }

  #isIdle(signals: Signals): boolean {
    const { inShared, inDownstream } = signals
    for (let c = 0; c < inShared.length; c++)
      if (inShared[c] !== 0 || inDownstream[c] !== 0) return false
    return true
  }

  #mark(path: number, status: Status, bits: number): void {
    const at = path * 3 + status
    this.#marks[at]! |= bits
  }
}

/** Precedence of what was said: lost (demoted) > exempt > hide and limit, which both may hold. */
function verdictOf(bits: number): number {
  const open = (bits & LIMIT) === 0 ? SHOWN : LIMITED
  if ((bits & DEMOTE) !== 0) return open
  if ((bits & EXEMPT) !== 0) return SHOWN
  return (bits & HIDE) === 0 ? open : HIDDEN
}
