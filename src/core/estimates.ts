/**
 * @module
 * What is measured online and corrects the offline profiles: per class a slowdown (time taken over time taken alone), and for long
 * paths the expected wait for a downstream stage. Both are kept in steps of an eighth of an octave with hysteresis, because every
 * change of a published value costs a walk over the lists of the class.
 *
 * r = slowdown * work + expected downstream wait (ARCHITECTURE.md, item 8); the paper's estimate leaves the wait out.
 */

import { bucketCell, bucketInCell, bucketMs, bucketOf } from './bucket.js'
import { doubles } from './columns.js'
import { expectInteger, expectNumber } from './errors.js'
import { type ClassTable, LONG } from './request-class.js'
import type { Chunk } from './request-table.js'

export interface EstimateOptions {
  /** Weight of a new observation in the moving average of the slowdown, in (0, 1]; 0 switches the correction off. */
  readonly slowdownGain: number
  /** A slowdown is clamped to [1, maxSlowdown]. */
  readonly maxSlowdown: number
  /** How many long-path requests the downstream stages serve at once. */
  readonly downstreamConcurrency: number
}

const defaults: EstimateOptions = Object.freeze({
  slowdownGain: 0.2,
  maxSlowdown: 32,
  downstreamConcurrency: 1,
})

/** A published slowdown moves when the exact one has left it by more than this factor. */
const HYSTERESIS = 1.125
/** The same for the expected wait, which is coarser: it counts requests, and every admission moves it. */
const WAIT_HYSTERESIS = 1.5

export interface Estimates {
  /** Published slowdown per class, at least 1. */
  readonly slowdown: Float64Array
  /** Published expected downstream wait per class, ms; 0 on the short path. */
  readonly waitMs: Float64Array
  /** Something was published since the flag was last taken down. */
  isStale: boolean
  /** A request of the class took `takenMs` for what takes `soloMs` alone. */
  observe(classIndex: number, takenMs: number, soloMs: number): void
  /** Publishes a slowdown, rounded and with hysteresis; also for callers that measure it themselves. */
  setSlowdown(classIndex: number, exact: number): void
  /** The long-path request in row `i` was admitted and will occupy its downstream stage. Rows, since a double passed is boxed. @hot */
  enter(chunk: Chunk, i: number): void
  /** The long-path request in row `i` ended. @hot */
  leave(chunk: Chunk, i: number): void
}

/** Throws `ERR_CORE_ESTIMATES` for an option that would make estimates meaningless. */
export function createEstimates(
  { count, path }: ClassTable,
  options?: Partial<EstimateOptions>,
): Estimates {
  const { slowdownGain, maxSlowdown, downstreamConcurrency } = { ...defaults, ...options }
  const code = 'ERR_CORE_ESTIMATES'
  expectNumber(code, 'estimates.slowdownGain', slowdownGain, 0, 1)
  expectNumber(code, 'estimates.maxSlowdown', maxSlowdown, 1)
  expectInteger(code, 'estimates.downstreamConcurrency', downstreamConcurrency, 1)
  const slowdown = doubles(count).fill(1)
  const waitMs = doubles(count)
  /** Exact moving average of the slowdown per class. */
  const measured = slowdown.slice()
  /** Long-path requests between admission and end, and the solo ms they occupy downstream. */
  let numInFlight = 0
  const busyMs = doubles(1)

  /**
   * Expected wait of the next arrival at a downstream stage with c servers and n requests in flight: (n - c + 1) departures of
   * c servers away, `busy / c` each.
   */
  const publishWait = (): void => {
    const ahead = numInFlight - downstreamConcurrency + 1
    const mean = numInFlight === 0 ? 0 : busyMs[0]! / numInFlight
    const solo = ahead > 0 ? (ahead * mean) / downstreamConcurrency : 0
    for (let c = 0; c < count; c++) {
      if (path[c] !== LONG) continue
      const exact = solo * slowdown[c]!
      const published = waitMs[c]!
      if (exact < published * WAIT_HYSTERESIS && exact > published / WAIT_HYSTERESIS) continue
      bucketCell[0] = exact
      waitMs[c] = exact === 0 ? 0 : bucketMs[bucketInCell()]!
      if (waitMs[c] !== published) estimates.isStale = true
    }
  }

  const estimates: Estimates = {
    slowdown,
    waitMs,
    isStale: false,
    observe(c, takenMs, soloMs) {
      if (slowdownGain === 0 || !(soloMs > 0) || !(takenMs >= 0)) return
      const ratio = Math.min(maxSlowdown, Math.max(1, takenMs / soloMs))
      measured[c] = slowdownGain * ratio + (1 - slowdownGain) * measured[c]!
      estimates.setSlowdown(c, measured[c]!)
    },
    setSlowdown(c, exact) {
      const published = slowdown[c]!
      if (exact < published * HYSTERESIS && exact > published / HYSTERESIS) return
      slowdown[c] = exact <= 1 ? 1 : bucketMs[bucketOf(exact)]!
      if (slowdown[c] !== published) estimates.isStale = true
    },
    enter(chunk, i) {
      numInFlight += 1
      busyMs[0]! += chunk.downstreamBusyMs[i]!
      publishWait()
    },
    leave(chunk, i) {
      numInFlight -= 1
      busyMs[0] = numInFlight === 0 ? 0 : Math.max(0, busyMs[0]! - chunk.downstreamBusyMs[i]!)
      publishWait()
    },
  }
  return estimates
}
