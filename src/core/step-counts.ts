/**
 * @module
 * The bookkeeping of a step: what its decision says about how many wait, are hidden, protected and lost, and the metrics of it.
 */
import type { MutableDecision } from './decision.js'
import { type Groups, HIDDEN, LIMITED } from './groups.js'
import type { MetricsRecorder } from './metrics.js'
import { type ClassTable, LONG, SHORT } from './request-class.js'
import { LOST, ORDINARY, PROTECTED } from './request-table.js'
import type { Signals } from './signals.js'
import type { LazyView } from './view.js'

/** Fills in the counts of `result` from the settled verdict of the step. `counts` are waiting requests by `class * 3 + status`. @hot */
export function countStep(
  classes: ClassTable,
  counts: Int32Array,
  groups: Groups,
  signals: Signals,
  view: LazyView,
  recorder: MetricsRecorder,
  result: MutableDecision,
): void {
  const { verdict, limits } = groups
  const { count, path } = classes
  let waiting = 0
  let hidden = 0
  for (let c = 0; c < count; c++) {
    const at = c * 3
    let hiddenHere = 0
    for (let status = ORDINARY; status <= LOST; status++) {
      const here = counts[at + status]!
      waiting += here
      if (verdict[at + status] === HIDDEN) hiddenHere += here
    }
    if (hiddenHere > 0) recorder.hiddenRequestSteps[c]! += hiddenHere
    hidden += hiddenHere
  }
  for (let p = SHORT; p <= LONG; p++) {
    const overLost =
      limits[p * 3 + LOST]! < 0
        ? 0
        : limitedOn(classes, counts, groups, p, LOST) - limits[p * 3 + LOST]!
    if (overLost > 0) hidden += overLost
    const over =
      limits[p * 3]! < 0 ? 0 : limitedOn(classes, counts, groups, p, ORDINARY) - limits[p * 3]!
    if (over <= 0) continue
    hidden += over
    for (let c = 0; c < count; c++) if (path[c] === p) recorder.cappedSteps[c]! += 1
  }
  if (groups.rescues && view.rescuesHidden()) hidden -= 1
  result.waiting = waiting + signals.alwaysVisible
  result.hidden = hidden
  result.protected = signals.waitingOn(SHORT, PROTECTED) + signals.waitingOn(LONG, PROTECTED)
  result.lost = signals.waitingOn(SHORT, LOST) + signals.waitingOn(LONG, LOST)
  recorder.steps += 1
  if (signals.downstreamActive) recorder.corunningSteps += 1
}

/** Requests of a path and status to which a limit applies in this step. */
function limitedOn(
  classes: ClassTable,
  counts: Int32Array,
  groups: Groups,
  path: number,
  status: number,
): number {
  const { count, path: pathOf } = classes
  let sum = 0
  for (let c = 0; c < count; c++) {
    if (pathOf[c] === path && groups.verdict[c * 3 + status] === LIMITED)
      sum += counts[c * 3 + status]!
  }
  return sum
}
