/**
 * @module
 * The future events of a simulation, in one total order: time, then the rank of the event's kind, then the order
 * in which they were pushed. Two events never compare equal, so a run depends on nothing but its seed.
 * A 4-ary heap over typed arrays; cancelling is lazy, and a cancelled event is dropped without being popped or counted.
 */
import { HorizonError } from '../core/errors.js'

/** Names one pushed event until it is popped or cancelled; a stale one is recognised. */
export type EventId = number

/** Ranks are 0 to 31, smaller first among events of one instant. */
export const MAX_RANK = 31

const SEQUENCE_SPAN = 2 ** 48
const SLOT_BITS = 2 ** 24

/** What the last `pop` returned. One record per queue, overwritten by the next `pop`. */
export interface PoppedEvent {
  timeMs: number
  kind: number
  a: number
  b: number
}

export interface EventQueue {
  /** Live events waiting. */
  readonly size: number
  /** Events popped so far. This is what "events per second" counts. */
  readonly popped: number
  /** The record `pop` writes to. */
  readonly event: PoppedEvent
  /** `kind`, `a` and `b` come back as they are; `a` and `b` are meant for slot indices and must be 32-bit integers. */
  push(timeMs: number, rank: number, kind: number, a: number, b: number): EventId
  /** True if the event was still waiting. */
  cancel(id: EventId): boolean
  /** Moves the earliest event into `event`; false when none is left. */
  pop(): boolean
  /** Time of the earliest event, `Infinity` when there is none. */
  peekMs(): number
}

/** `capacity` is the first allocation; the queue grows by doubling. @hot `push` and `pop` allocate nothing else. */
export function createEventQueue(capacity = 1024): EventQueue {
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > SLOT_BITS) {
    throw new HorizonError('ERR_SIM_CAPACITY', 'cannot size the event queue', {
      field: 'capacity',
      expected: `an integer from 1 to ${SLOT_BITS}`,
      got: capacity,
    })
  }
  let times = new Float64Array(capacity)
  let orders = new Float64Array(capacity)
  let slots = new Int32Array(capacity)
  let kinds = new Int32Array(capacity)
  let as = new Int32Array(capacity)
  let bs = new Int32Array(capacity)
  let generations = new Int32Array(capacity)
  let states = new Uint8Array(capacity)
  let free = new Int32Array(capacity)
  let freeCount = 0
  let slotCount = 0
  let heapSize = 0
  let live = 0
  let popped = 0
  let sequence = 0
  const event: PoppedEvent = { timeMs: 0, kind: 0, a: 0, b: 0 }

  function grow(): void {
    const next = times.length * 2
    if (next > SLOT_BITS) {
      throw new HorizonError('ERR_SIM_CAPACITY', 'too many events wait at once', {
        expected: `at most ${SLOT_BITS}`,
        hint: 'Schedule the next arrival when the last one fires instead of all arrivals up front.',
      })
    }
    times = copyInto(new Float64Array(next), times)
    orders = copyInto(new Float64Array(next), orders)
    slots = copyInto(new Int32Array(next), slots)
    kinds = copyInto(new Int32Array(next), kinds)
    as = copyInto(new Int32Array(next), as)
    bs = copyInto(new Int32Array(next), bs)
    generations = copyInto(new Int32Array(next), generations)
    states = copyInto(new Uint8Array(next), states)
    free = copyInto(new Int32Array(next), free)
  }

  function push(timeMs: number, rank: number, kind: number, a: number, b: number): EventId {
    if (!(timeMs > -Infinity && timeMs < Infinity) || rank < 0 || rank > MAX_RANK) {
      throw new HorizonError('ERR_SIM_EVENT', 'cannot order the event', {
        field: Number.isFinite(timeMs) ? 'rank' : 'timeMs',
        expected: Number.isFinite(timeMs) ? `0 to ${MAX_RANK}` : 'a finite time in milliseconds',
        got: Number.isFinite(timeMs) ? rank : timeMs,
      })
    }
    if (heapSize === times.length) grow()
    const slot = freeCount > 0 ? (free[--freeCount] as number) : slotCount++
    kinds[slot] = kind
    as[slot] = a
    bs[slot] = b
    states[slot] = 1
    const order = rank * SEQUENCE_SPAN + sequence++
    let hole = heapSize++
    while (hole > 0) {
      const parent = (hole - 1) >> 2
      const parentTime = times[parent] as number
      if (parentTime < timeMs || (parentTime === timeMs && (orders[parent] as number) < order))
        break
      times[hole] = parentTime
      orders[hole] = orders[parent] as number
      slots[hole] = slots[parent] as number
      hole = parent
    }
    times[hole] = timeMs
    orders[hole] = order
    slots[hole] = slot
    live++
    return (generations[slot] as number) * SLOT_BITS + slot
  }

  /** Takes the root out of the heap and frees its slot. */
  function dropRoot(): void {
    const slot = slots[0] as number
    states[slot] = 0
    // 28 bits of generation, so that an id stays an exact integer.
    generations[slot] = ((generations[slot] as number) + 1) & 0xfffffff
    free[freeCount++] = slot
    const last = --heapSize
    if (last === 0) return
    const time = times[last] as number
    const order = orders[last] as number
    let hole = 0
    for (;;) {
      let child = hole * 4 + 1
      if (child >= last) break
      let bestTime = times[child] as number
      let bestOrder = orders[child] as number
      const end = Math.min(child + 4, last)
      for (let other = child + 1; other < end; other++) {
        const otherTime = times[other] as number
        if (
          otherTime < bestTime ||
          (otherTime === bestTime && (orders[other] as number) < bestOrder)
        ) {
          child = other
          bestTime = otherTime
          bestOrder = orders[other] as number
        }
      }
      if (time < bestTime || (time === bestTime && order < bestOrder)) break
      times[hole] = bestTime
      orders[hole] = bestOrder
      slots[hole] = slots[child] as number
      hole = child
    }
    times[hole] = time
    orders[hole] = order
    slots[hole] = slots[last] as number
  }

  function dropCancelled(): void {
    while (heapSize > 0 && states[slots[0] as number] === 2) dropRoot()
  }

  return {
    get size() {
      return live
    },
    get popped() {
      return popped
    },
    event,
    push,
    cancel(id) {
      const slot = id % SLOT_BITS
      if (slot >= slotCount || states[slot] !== 1) return false
      if (generations[slot] !== Math.floor(id / SLOT_BITS)) return false
      states[slot] = 2
      live--
      return true
    },
    pop() {
      dropCancelled()
      if (heapSize === 0) return false
      const slot = slots[0] as number
      event.timeMs = times[0] as number
      event.kind = kinds[slot] as number
      event.a = as[slot] as number
      event.b = bs[slot] as number
      dropRoot()
      live--
      popped++
      return true
    },
    peekMs() {
      dropCancelled()
      return heapSize === 0 ? Infinity : (times[0] as number)
    },
  }
}

function copyInto<T extends Float64Array | Int32Array | Uint8Array>(target: T, source: T): T {
  target.set(source)
  return target
}
