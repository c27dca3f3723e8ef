/**
 * @module
 * What is measured online and corrects the offline profiles: per class a slowdown (time taken over time taken alone), and for long
 * paths the expected wait for a downstream stage. Both are kept in steps of an eighth of an octave with hysteresis, because every
 * change of a published value costs a walk over the lists of the class.
 *
 * r = slowdown * work + expected downstream wait (ARCHITECTURE.md, item 8); the paper's estimate leaves the wait out.
 */
import { bucketCell, bucketInCell, bucketMs, bucketOf } from './bucket.js'
import { HorizonError } from './errors.js'
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

export const defaultEstimateOptions: EstimateOptions = Object.freeze({
  slowdownGain: 0.2,
  maxSlowdown: 32,
  downstreamConcurrency: 1,
})

/** Throws `ERR_CORE_ESTIMATES` for an option that would make estimates meaningless. */
function checkOptions(options: EstimateOptions): void {
  const { slowdownGain, maxSlowdown, downstreamConcurrency } = options
  const check = (field: string, isRight: boolean, expected: string, got: number): void => {
    if (isRight) return
    throw new HorizonError('ERR_CORE_ESTIMATES', 'impossible option of the estimates', {
      field: `estimates.${field}`,
      expected,
      got,
    })
  }
  check('slowdownGain', slowdownGain >= 0 && slowdownGain <= 1, 'a number in [0, 1]', slowdownGain)
  check(
    'maxSlowdown',
    maxSlowdown >= 1 && Number.isFinite(maxSlowdown),
    'a finite number of at least 1',
    maxSlowdown,
  )
  check(
    'downstreamConcurrency',
    Number.isInteger(downstreamConcurrency) && downstreamConcurrency >= 1,
    'an integer of at least 1',
    downstreamConcurrency,
  )
}

/** A published slowdown moves when the exact one has left it by more than this factor. */
const HYSTERESIS = 1.125
/** The same for the expected wait, which is coarser: it counts requests, and every admission moves it. */
const WAIT_HYSTERESIS = 1.5

export class Estimates {
  /** Published slowdown per class, at least 1. */
  readonly slowdown: Float64Array
  /** Published expected downstream wait per class, ms; 0 on the short path. */
  readonly waitMs: Float64Array
  /** Exact moving average of the slowdown per class. */
  readonly measured: Float64Array
  readonly #classes: ClassTable
  readonly #options: EstimateOptions
  /** Long-path requests between admission and end, and the solo ms they occupy downstream. */
  #numInFlight = 0
  readonly #busyMs = new Float64Array(1)
  readonly #onChange: (classIndex: number) => void

  constructor(
    classes: ClassTable,
    options: EstimateOptions,
    onChange: (classIndex: number) => void,
  ) {
    checkOptions(options)
    this.#classes = classes
    this.#options = options
    this.#onChange = onChange
    this.slowdown = new Float64Array(classes.count).fill(1)
    this.measured = new Float64Array(classes.count).fill(1)
    this.waitMs = new Float64Array(classes.count)
  }

  /** A request of the class took `takenMs` for what takes `soloMs` alone. */
  observe(classIndex: number, takenMs: number, soloMs: number): void {
    const gain = this.#options.slowdownGain
    if (gain === 0 || !(soloMs > 0) || !(takenMs >= 0)) return
    const ratio = Math.min(this.#options.maxSlowdown, Math.max(1, takenMs / soloMs))
    this.measured[classIndex] = gain * ratio + (1 - gain) * this.measured[classIndex]!
    this.setSlowdown(classIndex, this.measured[classIndex]!)
  }

  /** Publishes a slowdown, rounded and with hysteresis; also for callers that measure it themselves. */
  setSlowdown(classIndex: number, exact: number): void {
    const published = this.slowdown[classIndex]!
    if (exact < published * HYSTERESIS && exact > published / HYSTERESIS) return
    this.slowdown[classIndex] = exact <= 1 ? 1 : bucketMs[bucketOf(exact)]!
    if (this.slowdown[classIndex] !== published) this.#onChange(classIndex)
  }

  /** The long-path request in row `i` was admitted and will occupy its downstream stage. Rows, since a double passed is boxed. @hot */
  enter(chunk: Chunk, i: number): void {
    this.#numInFlight += 1
    this.#busyMs[0]! += chunk.downstreamBusyMs[i]!
    this.#publishWait()
  }

  /** The long-path request in row `i` ended. @hot */
  leave(chunk: Chunk, i: number): void {
    this.#numInFlight -= 1
    this.#busyMs[0] =
      this.#numInFlight === 0 ? 0 : Math.max(0, this.#busyMs[0]! - chunk.downstreamBusyMs[i]!)
    this.#publishWait()
  }

  /**
   * Expected wait of the next arrival at a downstream stage with c servers and n requests in flight: (n - c + 1) departures of
   * c servers away, `busy / c` each.
   */
  #publishWait(): void {
    const { downstreamConcurrency: servers } = this.#options
    const n = this.#numInFlight
    const ahead = n - servers + 1
    const mean = n === 0 ? 0 : this.#busyMs[0]! / n
    const solo = ahead > 0 ? (ahead * mean) / servers : 0
    const { count, path } = this.#classes
    for (let c = 0; c < count; c++) {
      if (path[c] !== LONG) continue
      const exact = solo * this.slowdown[c]!
      const published = this.waitMs[c]!
      if (exact < published * WAIT_HYSTERESIS && exact > published / WAIT_HYSTERESIS) continue
      bucketCell[0] = exact
      this.waitMs[c] = exact === 0 ? 0 : bucketMs[bucketInCell()]!
      if (this.waitMs[c] !== published) this.#onChange(c)
    }
  }
}
