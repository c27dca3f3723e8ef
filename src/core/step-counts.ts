/**
 * @module
 * The bookkeeping of a step: what its decision says about how many wait, are hidden, protected and lost, and the metrics of it.
 */
import type { MutableDecision } from './decision.js'
import { type Groups, HIDDEN, LIMITED } from './groups.js'
import type { MetricsRecorder } from './metrics.js'
import { LONG, SHORT } from './request-class.js'
import { LOST, ORDINARY, PROTECTED } from './request-table.js'
import type { Signals } from './signals.js'
import type { LazyView } from './view.js'

/** Makes the function that fills in the counts of a decision from the settled verdict of its step. */
export function createStepCounter(
  signals: Signals,
  groups: Groups,
  view: LazyView,
  recorder: MetricsRecorder,
): (result: MutableDecision) => void {
  const { waiting, waitingByPath } = signals
  const { ofPath } = signals.classes
  const { verdict, limits } = groups
  const { hiddenRequestSteps, cappedSteps } = recorder

  return (result) => {
    let hidden = 0
    for (let path = SHORT; path <= LONG; path++) {
      const members = ofPath[path]!
      for (let status = ORDINARY; status <= LOST; status++) {
        const group = path * 3 + status
        if (waitingByPath[group] === 0 || groups.showsAll(group)) continue
        /** Requests to which the limit of the group applies. */
        let limited = 0
        for (let k = 0; k < members.length; k++) {
          const c = members[k]!
          const here = waiting[c * 3 + status]!
          const said = verdict[c * 3 + status]
          if (said === LIMITED) limited += here
          else if (said === HIDDEN) {
            hidden += here
            hiddenRequestSteps[c]! += here
          }
        }
        const over = limited - limits[group]!
        if (limits[group]! < 0 || over <= 0) continue
        hidden += over
        if (status === ORDINARY) cappedSteps[path]! += 1
      }
    }
    if (groups.rescues && view.rescuesHidden()) hidden -= 1
    result.waiting = signals.numWaiting() + signals.alwaysVisible
    result.hidden = hidden
    result.protected = signals.waitingOn(SHORT, PROTECTED) + signals.waitingOn(LONG, PROTECTED)
    result.lost = signals.waitingOn(SHORT, LOST) + signals.waitingOn(LONG, LOST)
    recorder.steps += 1
    if (signals.downstreamActive) recorder.corunningSteps += 1
  }
}
