/**
 * @module
 * One turn of a steady state, timed from the step to the last request taken: what the step benches sample.
 */
import { type SteadyState, TAKEN_PER_STEP } from './scheduler-workload.js'

/** Steps and takes up to 8 from the view, or steps alone; then lets the turn's requests go. Returns ns. */
export function turnTimed(state: SteadyState, taking: boolean): number {
  const { scheduler, taken } = state
  scheduler.cells[1] = 0.5
  const start = process.hrtime.bigint()
  const { view } = scheduler.stepNow(true)
  let numTaken = 0
  if (taking) numTaken = take(view, taken)
  const ns = Number(process.hrtime.bigint() - start)
  if (!taking) numTaken = take(view, taken)
  for (let k = 0; k < numTaken; k++) scheduler.admit(taken[k]!)
  state.settle(numTaken)
  return ns
}

function take(view: { take(): number }, taken: Int32Array): number {
  let numTaken = 0
  while (numTaken < TAKEN_PER_STEP) {
    const handle = view.take()
    if (handle === 0) break
    taken[numTaken++] = handle
  }
  return numTaken
}
