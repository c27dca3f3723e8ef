/**
 * @module
 * The bookkeeping of a step: what its decision says about how many wait, are hidden, protected and lost, and the metrics of it.
 */
import { integers } from './columns.js'
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
  const { waiting } = signals
  const { count, path } = signals.classes
  const { verdict, limits } = groups
  const { counters, cappedSteps } = recorder
  /** Requests to which a limit applies in this step, by `path * 3 + status`. */
  const limited = integers(6)

  return (result) => {
    let hidden = 0
    for (let group = 0; group < 6; group++) limited[group] = 0
    for (let at = 0, c = 0; c < count; c++) {
      let hiddenHere = 0
      for (let status = ORDINARY; status <= LOST; status++, at++) {
        const here = waiting[at]!
        if (here === 0) continue
        if (verdict[at] === HIDDEN) hiddenHere += here
        else if (verdict[at] === LIMITED) limited[path[c]! * 3 + status]! += here
      }
      if (hiddenHere === 0) continue
      hidden += hiddenHere
      counters[c]!.hiddenRequestSteps += hiddenHere
    }
    for (let group = 0; group < 6; group++) {
      const over = limited[group]! - limits[group]!
      if (limits[group]! < 0 || over <= 0) continue
      hidden += over
      if (group % 3 === ORDINARY) cappedSteps[group === ORDINARY ? SHORT : LONG]! += 1
    }
    if (groups.rescues && view.rescuesHidden()) hidden -= 1
    result.waiting = signals.numWaiting + signals.alwaysVisible
    result.hidden = hidden
    result.protected = signals.waitingOn(SHORT, PROTECTED) + signals.waitingOn(LONG, PROTECTED)
    result.lost = signals.waitingOn(SHORT, LOST) + signals.waitingOn(LONG, LOST)
    recorder.steps += 1
    if (signals.downstreamActive) recorder.corunningSteps += 1
  }
}
