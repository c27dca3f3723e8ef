/**
 * @module
 * The long-path admission cap (paper, section 4.3): bounds how many ordinary long-path requests hold shared-stage slots, and with it
 * how fast downstream stages become active. Over the cap, earlier deadlines go first. The paper says what counts in three ways, and
 * "protected requests remain exempt" in none that says until when: each reading is a value of an option.
 */
import { expectInteger } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG } from '../core/request-class.js'
import { LOST, MOST_REQUESTS, ORDINARY, PROTECTED } from '../core/request-table.js'
import type { Signals } from '../core/signals.js'

export interface LongPathCapOptions {
  /** Most ordinary long-path requests in the shared stage. Not printed in the paper. @default 2 */
  readonly cap?: number
  /**
   * What counts against the cap: requests still in prefill ("prefills", Algorithm 1), all that hold a slot ("occupying shared-stage
   * slots", section 4.3; handed-over ones still hold theirs), or all between admission and end ("activating too many downstream
   * generators", section 4.3). The first two count requests admitted as ordinary, the last all of them. @default 'shared-stage'
   */
  readonly counts?: 'prefill' | 'shared-stage' | 'in-flight'
  /**
   * Protected requests: `exempt` from the cap for good, exempt `until-overdue` (then like ordinary ones, which are those that it limits;
   * with triage they are lost before), or `limited`: counted and limited too, before ordinary ones. @default 'exempt'
   */
  readonly protected?: 'exempt' | 'until-overdue' | 'limited'
}

export const defaultLongPathCap = Object.freeze({
  cap: 2,
  counts: 'shared-stage',
  protected: 'exempt',
}) satisfies Required<LongPathCapOptions>

function countOf(
  signals: Signals,
  counts: 'prefill' | 'shared-stage',
  countsAll: boolean,
): Int32Array {
  if (counts === 'prefill') return countsAll ? signals.inPrefill : signals.ordinaryInPrefill
  return countsAll ? signals.inShared : signals.ordinaryInShared
}

/** Throws `ERR_POLICIES_LONG_PATH_CAP` for a cap that is no integer of at least 1. */
export function longPathCap(options: LongPathCapOptions = {}): ViewFilter {
  const { cap, counts, protected: urgent } = { ...defaultLongPathCap, ...options }
  expectInteger('ERR_POLICIES_LONG_PATH_CAP', 'longPathCap', cap, 1, MOST_REQUESTS)
  return {
    name: 'long-path-cap',
    filter(signals, groups) {
      const held =
        counts === 'in-flight'
          ? signals.longInFlight()
          : signals.sumOn(LONG, countOf(signals, counts, urgent === 'limited'))
      let open = Math.max(0, cap - held)
      if (urgent !== 'exempt') {
        // Whose deadline passed comes before whose did not; protected ones are put before ordinary ones.
        const status = urgent === 'limited' ? PROTECTED : LOST
        groups.limit(LONG, status, open)
        open = Math.max(0, open - signals.waitingOn(LONG, status))
      }
      groups.limit(LONG, ORDINARY, open)
    },
  }
}
