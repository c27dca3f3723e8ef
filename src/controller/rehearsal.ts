/**
 * @module
 * Keeps the way of a lockstep answer warm. Between two questions of an engine lie many milliseconds, after which the same decision takes
 * ten times as long as before: its code has left the caches. A rehearsal runs that code on a scheduler of its own, about once per tick,
 * while nobody waits.
 */
import type { HorizonConfig } from '../config.js'
import { buildControl } from './control-setup.js'

/** One decision about one request of each class, from arrival to end, on a scheduler that nobody else sees. */
export function createRehearsal(config: HorizonConfig): () => void {
  const { scheduler } = buildControl(config)
  const handles = new Int32Array(scheduler.classes.count)
  let ms = 0
  return () => {
    for (let c = 0; c < handles.length; c++) {
      scheduler.cells[0] = ms
      handles[c] = scheduler.arriveNow(c)
    }
    ms += 1
    const { view } = scheduler.step(ms, undefined, false)
    while (view.take() !== 0);
    for (let c = 0; c < handles.length; c++) scheduler.cancel(handles[c]!)
  }
}
