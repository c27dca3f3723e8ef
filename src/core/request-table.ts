/**
 * @module
 * Live requests as rows of typed arrays, in chunks: a table grows by one chunk at a time and never copies what it holds.
 * A handle is `generation << slotBits | slot`, one small integer, so that a stale one is an error and not somebody else's request.
 */

import { staleHandle } from './call-checks.js'
import { bytes, doubles, integers } from './columns.js'
import { expectInteger } from './errors.js'

/** No table holds more rows, so no count of requests is larger. */
export const MOST_REQUESTS: number = 1 << 24

export const CHUNK_BITS = 14
export const CHUNK_SLOTS = 1 << CHUNK_BITS
export const CHUNK_MASK = CHUNK_SLOTS - 1

/** Where a request is. The order matters: everything up to `PREEMPTED` still waits for a shared-stage slot. */
export const FREE = 0
/** Arrived, never admitted: the only state that may be hidden. */
export const WAITING = 1
/** Was admitted and lost its slot, or must never be hidden: waits, always visible. */
export const PREEMPTED = 2
/** Holds a shared-stage slot, prompt not done. */
export const PREFILL = 3
/** Holds a shared-stage slot, prompt done. */
export const DECODE = 4
/** Decoded, and still holding its shared-stage slot until the next stage takes it. */
export const HANDED_OVER = 5
/** Left the shared stage, its downstream stage queued or running. */
export const DOWNSTREAM = 6

/** Urgency of a waiting request, as three contiguous segments of its list. */
export const ORDINARY = 0
export const PROTECTED = 1
export const LOST = 2

/** Bits of `flags`. */
export const ADMITTED_ORDINARY = 1
export const RESPONDED = 2
export const EVER_PROTECTED = 4
export const EVER_LOST = 8
/** Was admitted before: counts as in flight until it ends. */
export const ADMITTED = 16
/** Its first response came by its deadline. */
export const MET = 32

/** Slots stay unused this long after they are freed while fresh ones remain: it makes a stale handle's slot reappear late. */
const MIN_FREE = 1024

/** One chunk: `CHUNK_SLOTS` rows. Times are ms on the scheduler's clock. */
export interface Chunk {
  readonly arrivalMs: Float64Array
  /** What it is scheduled by: that of its list, which is not after its own. */
  readonly deadlineMs: Float64Array
  /** How much later its own deadline is; 0 unless its SLO shares a bucket with others. */
  readonly graceMs: Float64Array
  /** Arrival sequence: the tie breaker everywhere. */
  readonly seq: Float64Array
  readonly admittedMs: Float64Array
  /** Estimated solo time in the shared stage up to the first response, ms. */
  readonly sharedWorkMs: Float64Array
  /** Estimated solo time downstream up to the first response, ms. */
  readonly downstreamWorkMs: Float64Array
  /** Estimated solo time for which it occupies its downstream stage, ms. */
  readonly downstreamBusyMs: Float64Array
  /** Expected downstream wait when it was admitted, ms. */
  readonly waitAtAdmitMs: Float64Array
  readonly next: Int32Array
  readonly prev: Int32Array
  readonly list: Int32Array
  readonly promptTokens: Int32Array
  readonly prefillDone: Int32Array
  readonly decodeDone: Int32Array
  /** Step that last yielded it from a view. */
  readonly yieldedAt: Int32Array
  /** Step that last chose it within a limit. */
  readonly chosenAt: Int32Array
  readonly generation: Uint16Array
  readonly classIndex: Uint8Array
  readonly state: Uint8Array
  readonly status: Uint8Array
  readonly flags: Uint8Array
}

export interface TableOptions {
  /** Rows made at once, at construction. */
  readonly initialRequests: number
  /** The table never holds more; also sets how many bits of a handle name the slot. */
  readonly maxRequests: number
}

export interface RequestTable {
  readonly chunks: Chunk[]
  readonly slotBits: number
  readonly maxRequests: number
  live: number
  /** A fresh slot with its generation stepped, or -1 when the table is full. @hot */
  allocate(): number
  /** Gives a slot back, oldest reused first. @hot */
  release(slot: number): void
  /** The handle of a live slot. @hot */
  handleOf(slot: number): number
  /** The slot of a handle, or -1 when it is none of ours or its request has ended. @hot */
  slotOf(handle: number): number
  /** The same, throwing `ERR_CORE_STALE_HANDLE` for such a handle. @hot */
  liveSlot(handle: number): number
}

export function createRequestTable({ maxRequests, initialRequests }: TableOptions): RequestTable {
  expectInteger('ERR_CORE_CAPACITY', 'capacity.maxRequests', maxRequests, 1, MOST_REQUESTS)
  expectInteger('ERR_CORE_CAPACITY', 'capacity.initialRequests', initialRequests, 0, maxRequests)
  const slotBits = Math.max(1, Math.ceil(Math.log2(maxRequests)))
  const slotMask = (1 << slotBits) - 1
  const maxGeneration = Math.min(0xffff, (1 << (31 - slotBits)) - 1)
  const chunks: Chunk[] = []
  let freeHead = -1
  let freeTail = -1
  let numFree = 0
  let numUsed = 0
  while (chunks.length * CHUNK_SLOTS < Math.max(1, initialRequests)) chunks.push(createChunk())

  const table: RequestTable = {
    chunks,
    slotBits,
    maxRequests,
    live: 0,
    allocate() {
      let slot = freeHead
      if (numUsed < maxRequests && numFree < MIN_FREE) {
        slot = numUsed++
        if (slot >> CHUNK_BITS === chunks.length) chunks.push(createChunk())
      } else if (slot === -1) return -1
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (slot === freeHead) {
        freeHead = chunk.next[i]!
        if (freeHead === -1) freeTail = -1
        numFree -= 1
      }
      const generation = chunk.generation[i]!
      chunk.generation[i] = generation === maxGeneration ? 1 : generation + 1
      chunk.flags[i] = 0
      chunk.status[i] = ORDINARY
      chunk.prefillDone[i] = 0
      chunk.decodeDone[i] = 0
      chunk.yieldedAt[i] = -1
      chunk.chosenAt[i] = -1
      table.live += 1
      return slot
    },
    release(slot) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      chunk.state[i] = FREE
      chunk.next[i] = -1
      if (freeTail === -1) freeHead = slot
      else chunks[freeTail >> CHUNK_BITS]!.next[freeTail & CHUNK_MASK] = slot
      freeTail = slot
      numFree += 1
      table.live -= 1
    },
    handleOf: (slot) =>
      (chunks[slot >> CHUNK_BITS]!.generation[slot & CHUNK_MASK]! << slotBits) | slot,
    slotOf(handle) {
      if (typeof handle !== 'number') return -1
      const slot = handle & slotMask
      const chunk = chunks[slot >> CHUNK_BITS]
      const i = slot & CHUNK_MASK
      // A row that was never used is free; a handle below 0 or with a fraction is no handle.
      return chunk !== undefined &&
        chunk.state[i] !== FREE &&
        chunk.generation[i] === handle >>> slotBits &&
        (handle | 0) === handle
        ? slot
        : -1
    },
    liveSlot(handle) {
      const slot = table.slotOf(handle)
      if (slot === -1) throw staleHandle(handle)
      return slot
    },
  }
  return table
}

function createChunk(): Chunk {
  return {
    arrivalMs: doubles(CHUNK_SLOTS),
    deadlineMs: doubles(CHUNK_SLOTS),
    graceMs: doubles(CHUNK_SLOTS),
    seq: doubles(CHUNK_SLOTS),
    admittedMs: doubles(CHUNK_SLOTS),
    sharedWorkMs: doubles(CHUNK_SLOTS),
    downstreamWorkMs: doubles(CHUNK_SLOTS),
    downstreamBusyMs: doubles(CHUNK_SLOTS),
    waitAtAdmitMs: doubles(CHUNK_SLOTS),
    next: integers(CHUNK_SLOTS),
    prev: integers(CHUNK_SLOTS),
    list: integers(CHUNK_SLOTS),
    promptTokens: integers(CHUNK_SLOTS),
    prefillDone: integers(CHUNK_SLOTS),
    decodeDone: integers(CHUNK_SLOTS),
    yieldedAt: integers(CHUNK_SLOTS),
    chosenAt: integers(CHUNK_SLOTS),
    generation: new Uint16Array(CHUNK_SLOTS),
    classIndex: bytes(CHUNK_SLOTS),
    state: bytes(CHUNK_SLOTS),
    status: bytes(CHUNK_SLOTS),
    flags: bytes(CHUNK_SLOTS),
  }
}
