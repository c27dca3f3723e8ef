/**
 * @module
 * The verdict of one step. Filters speak of groups, (path, status), and say `hide`, `limit`, `exempt` or `demote`; what wins is
 * fixed and does not depend on the order of filters: lost > exempt > limit > hide.
 *
 * - A lost group that was demoted comes after everything else, whatever the phase.
 * - An exempt group is visible: neither hidden nor limited, nor counted by a limit. Only a limit on protected requests holds for it.
 * - A limited group shows at most `n`, the earliest deadlines; a hidden one shows none. Both may hold.
 */
import { bytes, integers } from './columns.js'
import { HorizonError } from './errors.js'
import { type ClassTable, LONG, SHORT } from './request-class.js'
import { LOST, ORDINARY, PROTECTED } from './request-table.js'
import type { Signals, Status } from './signals.js'

const HIDE = 1
const PASSABLE = 2
const LIMIT = 4
const EXEMPT = 8
const DEMOTE = 16
/** A limit on protected requests: who says it means those that are exempt. */
const BOUND = 32

/** How a group is shown once all filters have spoken. */
export const HIDDEN = 0
export const SHOWN = 1
export const LIMITED = 2

/** Precedence of what was said, by its bits: lost (demoted) > exempt > hide and limit, which both may hold. */
const VERDICTS = Uint8Array.from({ length: 64 }, (_, bits) => {
  const open = (bits & (LIMIT | BOUND)) === 0 ? SHOWN : LIMITED
  if ((bits & DEMOTE) !== 0) return open
  if ((bits & EXEMPT) !== 0) return (bits & BOUND) === 0 ? SHOWN : LIMITED
  return (bits & HIDE) === 0 ? open : HIDDEN
})

export interface Groups {
  /** Phase that a rotation declared: `SHORT`, `LONG`, or -1 when there is none. */
  phase: number
  /** N of the rotation in force; 0 when there is none. */
  n: number
  /** Whether the phase passed to the other path, for lack of work of its own. */
  passed: boolean
  /** Whether the lost request with the earliest deadline is shown first in this step. */
  rescues: boolean
  /** `HIDDEN`, `SHOWN` or `LIMITED` by `class * 3 + status`, once resolved. */
  readonly verdict: Uint8Array
  /** The same by `path * 3 + status`; where something was said of a class, its verdict is this one or `HIDDEN`. */
  readonly verdictOf: Uint8Array
  /** Whether something was said of a class in this step. */
  saysClass: boolean
  /** Whether a group, `path * 3 + status`, is shown whole, once resolved. @hot */
  showsAll(group: number): boolean
  /** Most that may be shown by `path * 3 + status`; -1 without a limit. */
  readonly limits: Int32Array
  /** Forgets the last step. @hot */
  reset(): void
  /** Hides every waiting request of a path. A `passable` hide is lifted when the step would have nothing ordinary to run. @hot */
  hide(path: number, passable: boolean): void
  /** Hides one status of one class. @hot */
  hideClass(classIndex: number, status: Status): void
  /** Shows at most `n` of a group, earliest deadlines first; the smallest of several limits holds. @hot */
  limit(path: number, status: Status, n: number): void
  /** Shows a group whatever else is said. @hot */
  exempt(path: number, status: Status): void
  /** Puts lost requests of a path after everything else, shown in either phase, at most `n` of them (-1: all). @hot */
  demote(path: number, n: number): void
  /** Whether a path's lost requests come last. A limited lost group that nobody demoted keeps its place in the base order. @hot */
  demotes(path: number): boolean
  /** Shows the lost request with the earliest deadline before all others in this step. @hot */
  rescue(): void
  /**
   * Settles the verdict. With `workConserving`, lifts passable hides when nothing ordinary of the declared phase can run, and
   * shows everything when nothing would be visible although nothing runs anywhere. @hot
   */
  resolve(signals: Signals, workConserving: boolean): void
}

export function createGroups({ count, path, ofPath }: ClassTable): Groups {
  const verdict = bytes(count * 3)
  const limits = integers(6)
  /** What was said by `path * 3 + status`, and the same for one class. */
  const marks = bytes(6)
  const classMarks = bytes(count * 3)
  const verdictOf = bytes(6)
  /** What the filters of the step under way asked for; in force once it is resolved, so that one that fails changes nothing. */
  const asked = integers(6)
  const demoted = bytes(2)
  let asksClass = false
  let asksRescue = false
  /** `verdict` does not follow from `verdictOf`. */
  let isStale = false

  const settle = (): void => {
    for (let group = 0; group < 6; group++) {
      const now = VERDICTS[marks[group]!]!
      if (now === verdictOf[group]) continue
      verdictOf[group] = now
      isStale = true
    }
    if (!isStale && !groups.saysClass) return
    isStale = false
    for (let c = 0; c < count; c++) {
      for (let status = ORDINARY; status <= LOST; status++) {
        const at = c * 3 + status
        verdict[at] = VERDICTS[marks[path[c]! * 3 + status]! | classMarks[at]!]!
      }
    }
  }

  const opens = (said: number, group: number): boolean =>
    said === SHOWN || (said === LIMITED && limits[group]! > 0)

  /** Whether the step may show any request that waits, up to a status. */
  const showsAny = ({ waiting, waitingByPath }: Signals, last: number): boolean => {
    for (let onPath = SHORT; onPath <= LONG; onPath++) {
      for (let status = ORDINARY; status <= last; status++) {
        const group = onPath * 3 + status
        if (waitingByPath[group] === 0) continue
        if (!groups.saysClass) {
          if (opens(verdictOf[group]!, group)) return true
          continue
        }
        const members = ofPath[onPath]!
        for (let k = 0; k < members.length; k++) {
          const at = members[k]! * 3 + status
          if (waiting[at] !== 0 && opens(verdict[at]!, group)) return true
        }
      }
    }
    return false
  }

  const groups: Groups = {
    phase: -1,
    n: 0,
    passed: false,
    rescues: false,
    verdict,
    verdictOf,
    saysClass: false,
    limits,
    showsAll: (group) => verdictOf[group] === SHOWN && !groups.saysClass,
    reset() {
      groups.phase = -1
      groups.n = 0
      groups.passed = false
      asksRescue = false
      for (let at = 0; at < 6; at++) {
        marks[at] = 0
        asked[at] = -1
      }
      if (!asksClass) return
      asksClass = false
      classMarks.fill(0)
    },
    hide(onPath, passable) {
      checkGroup(onPath, ORDINARY)
      const bits = passable ? HIDE | PASSABLE : HIDE
      for (let status = ORDINARY; status <= LOST; status++) marks[onPath * 3 + status]! |= bits
    },
    hideClass(c, status) {
      checkGroup(SHORT, status)
      if (!((c | 0) === c && c >= 0 && c < count)) throw wrong('classIndex', `0 to ${count - 1}`, c)
      classMarks[c * 3 + status] = HIDE
      asksClass = true
    },
    limit(onPath, status, n) {
      checkGroup(onPath, status)
      if (!((n | 0) === n && n >= 0)) throw wrong('n', 'a whole number from 0 to 2147483647', n)
      const at = onPath * 3 + status
      if (asked[at] === -1 || n < asked[at]!) asked[at] = n
      marks[at]! |= status === PROTECTED ? BOUND : LIMIT
    },
    exempt(onPath, status) {
      checkGroup(onPath, status)
      marks[onPath * 3 + status]! |= EXEMPT
    },
    demote(onPath, n) {
      checkGroup(onPath, LOST)
      marks[onPath * 3 + LOST]! |= DEMOTE
      if (n !== -1) groups.limit(onPath, LOST, n)
    },
    demotes: (onPath) => demoted[onPath] !== 0,
    rescue() {
      asksRescue = true
    },
    resolve(signals, workConserving) {
      for (let at = 0; at < 6; at++) limits[at] = asked[at]!
      groups.rescues = asksRescue
      for (let onPath = SHORT; onPath <= LONG; onPath++)
        demoted[onPath] = marks[onPath * 3 + LOST]! & DEMOTE
      if (groups.saysClass && !asksClass) isStale = true
      groups.saysClass = asksClass
      settle()
      if (!workConserving) return
      if (groups.phase !== -1 && !showsAny(signals, ORDINARY)) {
        groups.passed = true
        for (let at = 0; at < 6; at++)
          if ((marks[at]! & PASSABLE) !== 0) marks[at]! &= ~(HIDE | PASSABLE)
        settle()
      }
      if (groups.rescues || signals.numWaiting() === 0 || !isIdle(signals)) return
      if (showsAny(signals, LOST)) return
      verdictOf.fill(SHOWN)
      verdict.fill(SHOWN)
    },
  }
  return groups
}

function checkGroup(path: number, status: number): void {
  if (path !== SHORT && path !== LONG) throw wrong('path', 'SHORT or LONG', path)
  if (!(status === ORDINARY || status === PROTECTED || status === LOST))
    throw wrong('status', 'ORDINARY, PROTECTED or LOST', status)
}

function wrong(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_CORE_FILTER', 'impossible value', { field, expected, got })
}

/** Nothing runs anywhere, and nothing that must stay visible waits. */
function isIdle({ alwaysVisible, inShared, inDownstream }: Signals): boolean {
  if (alwaysVisible > 0) return false
  for (let c = 0; c < inShared.length; c++)
    if (inShared[c] !== 0 || inDownstream[c] !== 0) return false
  return true
}
