/**
 * @module
 * Two ways to ask for the same kind of pressure: the first as long as it brings something new, else the second, and the first again when
 * it does. A driver may know samples and have none for ever.
 */
import { type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/** How long the first may bring nothing new, and how often it is tried again, ms. */
export interface FallbackOptions {
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
  /** @default 2000, two of NVML's slowest periods */
  readonly afterMs?: number
  /** @default 10000 */
  readonly retryMs?: number
}

/** `openSecond` is called when it is first needed; what it throws counts as not there. */
export function createFallbackProbe(
  first: PressureProbe,
  openSecond: () => PressureProbe,
  options: FallbackOptions = {},
): PressureProbe {
  const clock = options.clock ?? createMonotonicClock()
  const { afterMs = 2000, retryMs = 10_000 } = options
  const own = new Float64Array(2)
  clock.read()
  let freshMs = clock.ms[0] as number
  let triedMs = freshMs
  let second: PressureProbe | undefined
  let isSecond = false
  let hasNone = false
  const now = (): number => {
    clock.read()
    return clock.ms[0] as number
  }
  /** Asks the first; remembers when it last brought something new. */
  const askFirst = (nowMs: number): number => {
    const before = own[RENEWED_MS]
    const result = first.read(own)
    if (result === 0 && own[RENEWED_MS] !== before) freshMs = nowMs
    return result
  }
  const give = (cell: Float64Array, result: number): number => {
    if (result !== 0) return result
    cell[VALUE] = own[VALUE] as number
    cell[RENEWED_MS] = own[RENEWED_MS] as number
    return 0
  }
  const toSecond = (): boolean => {
    if (second === undefined && !hasNone) {
      try {
        second = openSecond()
      } catch {
        hasNone = true
      }
    }
    isSecond = second !== undefined
    return isSecond
  }
  return {
    get name() {
      return isSecond ? (second as PressureProbe).name : first.name
    },
    kind: first.kind,
    read(cell) {
      const nowMs = now()
      if (!isSecond) {
        const result = askFirst(nowMs)
        if (nowMs - freshMs <= afterMs || !toSecond()) return give(cell, result)
        triedMs = nowMs
      } else if (nowMs - triedMs >= retryMs) {
        triedMs = nowMs
        const result = askFirst(nowMs)
        if (freshMs === nowMs) {
          isSecond = false
          return give(cell, result)
        }
      }
      return (second as PressureProbe).read(cell)
    },
    describeResult: (result) =>
      (isSecond ? (second as PressureProbe) : first).describeResult(result),
    close() {
      first.close()
      second?.close()
    },
  }
}
