/**
 * @module
 * The long-path admission cap (paper, section 4.3): bounds how many ordinary long-path requests hold shared-stage slots, and with it
 * how fast downstream stages become active. Over the cap, earlier deadlines go first; protected requests are neither counted nor limited.
 */
import { expectInteger } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG } from '../core/request-class.js'
import { ORDINARY } from '../core/request-table.js'

export interface LongPathCapOptions {
  /** Most ordinary long-path requests in the shared stage. Not printed in the paper. @default 2 */
  readonly cap?: number
  /**
   * What counts against the cap: requests still in prefill (the paper's words taken literally) or all that hold a slot (its stated
   * purpose: KV capacity and downstream activation). @default 'shared-stage'
   */
  readonly counts?: 'prefill' | 'shared-stage'
}

export const defaultLongPathCap = Object.freeze({
  cap: 2,
  counts: 'shared-stage',
}) satisfies Required<LongPathCapOptions>

/** Throws `ERR_POLICIES_LONG_PATH_CAP` for a cap that is no integer of at least 1. */
export function longPathCap(options: LongPathCapOptions = {}): ViewFilter {
  const { cap, counts } = { ...defaultLongPathCap, ...options }
  expectInteger('ERR_POLICIES_LONG_PATH_CAP', 'longPathCap', cap, 1)
  return {
    name: 'long-path-cap',
    filter(signals, groups) {
      const held = signals.sumOn(
        LONG,
        counts === 'prefill' ? signals.ordinaryInPrefill : signals.ordinaryInShared,
      )
      groups.limit(LONG, ORDINARY, Math.max(0, cap - held))
    },
  }
}
