/**
 * @module
 * The slack guard (paper, section 4.3): requests whose slack ratio is below uGuard are visible in either phase and exempt from limits.
 */
import type { ViewFilter } from '../core/ports.js'
import { LONG, SHORT } from '../core/request-class.js'
import { PROTECTED } from '../core/request-table.js'

/** Not printed in the paper; 2 keeps one more solo time in hand. Deadlines are 5 solo times away. */
export const DEFAULT_U_GUARD = 2

export function slackGuard(): ViewFilter {
  return {
    name: 'slack-guard',
    filter(_signals, groups) {
      groups.exempt(SHORT, PROTECTED)
      groups.exempt(LONG, PROTECTED)
    },
  }
}
