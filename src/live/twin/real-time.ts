/**
 * @module
 * Moves a simulation along with real time. Events keep their exact instants: a timer that fires late makes an event late on the wire,
 * never the one after it.
 */
import { MAX_RANK, type Simulation } from '../../sim/index.js'
import { monotonicMs } from '../monotonic.js'

export interface RealTime {
  /** Handles what is due and returns now, ms since the start. Call before putting anything in, and after. */
  catchUp(): number
  /** Latest by which an event was handled, since the last call of this. */
  takeWorstLagMs(): number
  stop(): void
}

export function createRealTime(simulation: Simulation): RealTime {
  const startMs = monotonicMs()
  let timer: NodeJS.Timeout | undefined
  let wakeMs = Infinity
  let worstLagMs = 0
  let stopped = false
  const tick = simulation.kind(MAX_RANK, () => undefined)

  function catchUp(): number {
    if (stopped) return simulation.nowMs
    const nowMs = monotonicMs() - startMs
    if (simulation.nextMs <= nowMs) worstLagMs = Math.max(worstLagMs, nowMs - simulation.nextMs)
    // Without an event of its own the clock would stand still.
    simulation.at(nowMs, tick)
    simulation.run(nowMs)
    arm()
    return nowMs
  }

  function arm(): void {
    const nextMs = simulation.nextMs
    if (nextMs === wakeMs) return
    clearTimeout(timer)
    wakeMs = nextMs
    if (nextMs === Infinity) return
    timer = setTimeout(
      () => {
        wakeMs = Infinity
        catchUp()
      },
      Math.max(0, nextMs - (monotonicMs() - startMs)),
    )
  }

  return {
    catchUp,
    takeWorstLagMs() {
      const worst = worstLagMs
      worstLagMs = 0
      return worst
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
