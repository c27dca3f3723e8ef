/**
 * @module
 * A lazy merge of waiting lists. The heaps over lists are walked, not emptied: taking `n` requests opens at most `2n` heap nodes,
 * however many lists or requests there are. Valid for one shape of the heaps (`WaitingSet.epoch`).
 */
import { grown, type ListHeap } from './list-heap.js'
import type { Order } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, type RequestTable } from './request-table.js'
import type { WaitingHeaps } from './waiting-heaps.js'
import type { WaitingSet } from './waiting-set.js'

/** How an entry goes on once it is taken. `HEAD_…` entries stand for a heap node and open its children. */
const HEAD_LIVE = 0
const HEAD_PROTECTED = 1
const HEAD_ORDINARY = 2
const HEAD_LOST = 3
/** The next request of a list that is being read: to its end, up to its first ordinary one, up to its first live one. */
const TO_END = 4
const TO_ORDINARY = 5
const TO_LIVE = 6
/** A request on its own. */
const SINGLE = 7

export class Merge {
  readonly #table: RequestTable
  readonly #waiting: WaitingSet
  readonly #heaps: WaitingHeaps
  readonly #kind: Order['kind']
  #key = new Float64Array(64)
  #tie = new Float64Array(64)
  #slot = new Int32Array(64)
  #list = new Int32Array(64)
  #mode = new Uint8Array(64)
  /** Entries in heap order up to `size`, vacant ones after: a sift moves one number, not five columns. */
  #order = Int32Array.from({ length: 64 }, (_, entry) => entry)
  #size = 0

  constructor(table: RequestTable, waiting: WaitingSet, kind: Order['kind']) {
    this.#table = table
    this.#waiting = waiting
    this.#heaps = waiting.heaps
    this.#kind = kind
  }

  clear(): void {
    this.#size = 0
  }

  /** Opens a class's lists: all that is not lost. @hot */
  openLive(classIndex: number): void {
    this.#openRoot(this.#heaps.liveHeap[classIndex]!, HEAD_LIVE)
  }

  /** Opens a class's lists: the protected segments. @hot */
  openProtected(classIndex: number): void {
    this.#openRoot(this.#heaps.protectedHeap[classIndex]!, HEAD_PROTECTED)
  }

  /** Opens a class's lists: the ordinary segments; a merge by deadline only, for a class with `trackOrdinary`. @hot */
  openOrdinary(classIndex: number): void {
    this.#openRoot(this.#heaps.ordinaryHeap[classIndex]!, HEAD_ORDINARY)
  }

  /** Opens a class's lists: the lost segments; a merge by deadline only. @hot */
  openLost(classIndex: number): void {
    this.#openRoot(this.#heaps.lostHeap[classIndex]!, HEAD_LOST)
  }

  /** Adds one request. @hot */
  add(slot: number): void {
    const list = this.#table.chunks[slot >> CHUNK_BITS]!.list[slot & CHUNK_MASK]!
    this.#push(slot, list, SINGLE)
  }

  /** Takes the first request in order, or -1. @hot */
  take(): number {
    if (this.#size === 0) return -1
    const entry = this.#order[0]!
    const slot = this.#slot[entry]!
    const list = this.#list[entry]!
    const mode = this.#mode[entry]!
    this.#pop()
    const { visits } = this.#waiting
    visits[0] = visits[0]! + 1
    if (mode === SINGLE) return slot
    if (mode < TO_END) this.#openChildren(list, mode)
    this.#follow(slot, list, mode)
    return slot
  }

  #follow(slot: number, list: number, mode: number): void {
    const { lists } = this.#waiting
    const next = this.#table.chunks[slot >> CHUNK_BITS]!.next[slot & CHUNK_MASK]!
    if (next === -1) return
    if (mode === HEAD_PROTECTED || mode === TO_ORDINARY) {
      if (next !== lists.firstOrdinary[list]) this.#push(next, list, TO_ORDINARY)
    } else if (mode === HEAD_LOST || mode === TO_LIVE) {
      if (next !== lists.firstLive[list]) this.#push(next, list, TO_LIVE)
    } else {
      this.#push(next, list, TO_END)
    }
  }

  #openRoot(heap: ListHeap, mode: number): void {
    if (heap.size > 0) this.#openNode(heap, 0, mode)
  }

  #openChildren(list: number, mode: number): void {
    const c = this.#waiting.lists.classIndex[list]!
    let heap = this.#heaps.liveHeap[c]!
    if (mode === HEAD_PROTECTED) heap = this.#heaps.protectedHeap[c]!
    else if (mode === HEAD_ORDINARY) heap = this.#heaps.ordinaryHeap[c]!
    else if (mode === HEAD_LOST) heap = this.#heaps.lostHeap[c]!
    const child = heap.space.pos[list]! * 2 + 1
    if (child < heap.size) this.#openNode(heap, child, mode)
    if (child + 1 < heap.size) this.#openNode(heap, child + 1, mode)
  }

  #openNode(heap: ListHeap, at: number, mode: number): void {
    const list = heap.items[at]!
    const { lists } = this.#waiting
    let slot = lists.firstLive[list]!
    if (mode === HEAD_ORDINARY) slot = lists.firstOrdinary[list]!
    else if (mode === HEAD_LOST) slot = lists.head[list]!
    this.#push(slot, list, mode)
  }

  #push(slot: number, list: number, mode: number): void {
    if (this.#size === this.#slot.length) this.#grow()
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const seq = chunk.seq[i]!
    let key = seq
    if (this.#kind === 'deadline') key = chunk.deadlineMs[i]!
    else if (this.#kind === 'key') key = this.#waiting.lists.orderKey[list]!
    const keys = this.#key
    const tie = this.#tie
    const order = this.#order
    let at = this.#size++
    const entry = order[at]!
    keys[entry] = key
    tie[entry] = seq
    this.#slot[entry] = slot
    this.#list[entry] = list
    this.#mode[entry] = mode
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = order[up]!
      if (keys[parent]! < key || (keys[parent] === key && tie[parent]! <= seq)) break
      order[at] = parent
      at = up
    }
    order[at] = entry
  }

  #pop(): void {
    const keys = this.#key
    const tie = this.#tie
    const order = this.#order
    const last = --this.#size
    const taken = order[0]!
    const entry = order[last]!
    order[last] = taken
    if (last === 0) return
    const key = keys[entry]!
    const seq = tie[entry]!
    let at = 0
    for (;;) {
      let down = at * 2 + 1
      if (down >= last) break
      let child = order[down]!
      if (down + 1 < last) {
        const right = order[down + 1]!
        if (
          keys[right]! < keys[child]! ||
          (keys[right] === keys[child] && tie[right]! < tie[child]!)
        ) {
          child = right
          down += 1
        }
      }
      if (key < keys[child]! || (key === keys[child] && seq <= tie[child]!)) break
      order[at] = child
      at = down
    }
    order[at] = entry
  }

  #grow(): void {
    const size = this.#slot.length * 2
    this.#key = grown(this.#key, size)
    this.#tie = grown(this.#tie, size)
    this.#slot = grown(this.#slot, size)
    this.#list = grown(this.#list, size)
    this.#mode = grown(this.#mode, size)
    const order = Int32Array.from({ length: size }, (_, entry) => entry)
    order.set(this.#order)
    this.#order = order
  }
}
