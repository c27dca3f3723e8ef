/**
 * @module
 * The requests that only decode. In every step each of them computes one token, so none needs to be looked at: the cohort keeps sums and
 * dates instead. A member's counters are a base and the number of ticks since it joined; it is touched when it crosses into a new block
 * (once in a block's worth of ticks), when its last token is scheduled, and when it leaves. So a step costs what changes in it, and
 * no token is an event.
 */
import type { RequestTable } from './request-table.js'

export interface DecodeCohort {
  /** Members that compute a token in the next tick. */
  readonly size: number
  /** Ticks so far; the next one has this number. */
  readonly tick: number
  readonly contextSum: number
  readonly contextMax: number
  readonly contextMin: number
  has(request: number): boolean
  /** Takes in a request that has one token to compute and `left` more to come after what is under way, with room for `room` tokens. */
  join(request: number, left: number, room: number): void
  /** Members that need a new block in the next tick, in the order they joined. */
  crossing(): readonly number[]
  /** Makes the tick: every member has computed one more token. */
  advance(): void
  /** The tokens of a tick came back; returns the members whose last token that was, in the order they joined. */
  collect(tick: number): readonly number[]
  /** True if the member computed a token in that tick. */
  ranIn(request: number, tick: number): boolean
  /** Writes the counters of all members back to the table and dissolves the cohort. */
  dissolve(): void
}

const NONE: readonly number[] = []

export function createDecodeCohort(table: RequestTable, blockSize: number): DecodeCohort {
  const { computed, known, pending } = table
  const joined = new Int32Array(table.count).fill(-1)
  const lastTick = new Int32Array(table.count)
  const members = new Set<number>()
  /** Members by the tick, modulo the block size, in which they need a new block. */
  const buckets: number[][] = Array.from({ length: blockSize }, () => [])
  const bucketOf = new Int32Array(table.count)
  /** Members by the tick that schedules their last token. */
  const ending = new Map<number, number[]>()
  let tick = 0
  let collected = 0
  let size = 0
  // A member's context in tick t is its key plus t + 1, so sums and extremes of keys hold until the membership changes.
  let keySum = 0
  let keyMax = 0
  let keyMin = 0

  const keyOf = (request: number): number =>
    (computed[request] as number) - (joined[request] as number)

  function findExtremes(): void {
    keyMax = -Infinity
    keyMin = Infinity
    for (const request of members) {
      if ((lastTick[request] as number) < tick) continue
      const key = keyOf(request)
      if (key > keyMax) keyMax = key
      if (key < keyMin) keyMin = key
    }
  }

  /** Members whose last token was just scheduled stay until it comes back, but take part in no further tick. */
  function retire(requests: readonly number[]): void {
    let extreme = false
    for (const request of requests) {
      const key = keyOf(request)
      size--
      keySum -= key
      if (key === keyMax || key === keyMin) extreme = true
      const bucket = buckets[bucketOf[request] as number] as number[]
      bucket.splice(bucket.indexOf(request), 1)
    }
    if (extreme) findExtremes()
  }

  /** Brings a member's counters to where the ticks have taken them. */
  function settle(request: number): void {
    const from = joined[request] as number
    const end = (lastTick[request] as number) + 1
    const ran = Math.min(tick, end) - from
    const back = Math.max(0, Math.min(collected, end) - from)
    computed[request] = (computed[request] as number) + ran
    known[request] = (known[request] as number) + back
    pending[request] = (pending[request] as number) + ran - back
    joined[request] = -1
  }

  return {
    get size() {
      return size
    },
    get tick() {
      return tick
    },
    get contextSum() {
      return keySum + size * (tick + 1)
    },
    get contextMax() {
      return keyMax + tick + 1
    },
    get contextMin() {
      return keyMin + tick + 1
    },
    has: (request) => joined[request] !== -1,
    join(request, left, room) {
      joined[request] = tick
      lastTick[request] = tick + left - 1
      members.add(request)
      const bucket = (tick + room - (computed[request] as number)) % blockSize
      bucketOf[request] = bucket
      buckets[bucket]?.push(request)
      const end = ending.get(tick + left - 1)
      if (end === undefined) ending.set(tick + left - 1, [request])
      else end.push(request)
      const key = keyOf(request)
      keySum += key
      if (size === 0 || key > keyMax) keyMax = key
      if (size === 0 || key < keyMin) keyMin = key
      size++
    },
    crossing: () => buckets[tick % blockSize] as number[],
    advance() {
      const done = ending.get(tick)
      tick++
      if (done !== undefined) retire(done)
    },
    collect(which) {
      collected = which + 1
      const done = ending.get(which)
      if (done === undefined) return NONE
      ending.delete(which)
      for (const request of done) {
        settle(request)
        members.delete(request)
      }
      return done
    },
    ranIn: (request, which) =>
      joined[request] !== -1 &&
      (joined[request] as number) <= which &&
      which <= (lastTick[request] as number),
    dissolve() {
      for (const request of members) settle(request)
      members.clear()
      ending.clear()
      for (const bucket of buckets) bucket.length = 0
      size = 0
      keySum = 0
    },
  }
}
