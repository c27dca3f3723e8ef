/**
 * @module
 * Triage, beyond the paper: a request that can no longer meet its deadline stays protected there for good and crowds out those that
 * can. Here it is lost: it leaves the fraction that sets N, comes after everything else, and a lost long-path request is admitted only
 * when no long-path request is in the shared stage or downstream. A share floor keeps lost requests from waiting for ever: it is the
 * declared fraction of steps whose first place goes to the lost request with the earliest deadline.
 */
import { doubles } from '../core/columns.js'
import { expectNumber } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG, SHORT } from '../core/request-class.js'
import { LOST } from '../core/request-table.js'

export interface TriageOptions {
  /** Lost when `deadline - t < uLost * r`. 1: it would be late even if it were served from now on. @default 1 */
  readonly uLost?: number
  /** Fraction of steps, in [0, 1], that put a lost request first. 0: lost requests get only what is left over. @default 0.05 */
  readonly shareFloor?: number
}

export const defaultTriage = Object.freeze({
  uLost: 1,
  shareFloor: 0.05,
}) satisfies Required<TriageOptions>

/** The filter; `uLost` goes into the policy's urgency rule. Throws `ERR_POLICIES_TRIAGE` for an impossible share. */
export function triage(options: TriageOptions = {}): ViewFilter {
  const { shareFloor } = { ...defaultTriage, ...options }
  expectNumber('ERR_POLICIES_TRIAGE', 'triage.shareFloor', shareFloor, 0, 1)
  /** Share earned since the last rescue, while lost requests wait. */
  const credit = doubles(1)
  return {
    name: 'triage',
    filter(signals, groups) {
      groups.demote(SHORT, -1)
      groups.demote(LONG, signals.longInFlight() === 0 ? 1 : 0)
      const lost = signals.waitingOn(SHORT, LOST) + signals.waitingOn(LONG, LOST)
      if (lost === 0) return
      credit[0]! += shareFloor
      // A hair below 1, so that twenty times 0.05 is one.
      if (credit[0]! < 1 - 1e-9) return
      credit[0]! -= 1
      groups.rescue()
    },
  }
}
