/**
 * @module
 * A binary heap of entries, ordered by (key, tie), in which an entry can be moved and removed. One kind of entry serves the heaps over
 * waiting lists and the merges that read them, so that the hot path sees one shape of object. Keys are written by whoever places an
 * entry, so that no double crosses a call.
 */
import type { Order } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, type Chunk } from './request-table.js'
import type { WaitingList } from './waiting-lists.js'

/** The place of a waiting list in one heap; or, in a merge, of a request behind the first of its list. */
export interface Entry {
  key: number
  tie: number
  /** Index in its heap; -1 while it is in none. */
  at: number
  /** The request whose key this is. */
  slot: number
  list: WaitingList
  /** Which part of the list it stands for: see `waiting-lists.ts`. */
  segment: number
  /** The heap over lists that it belongs to. */
  readonly heap: Heap
}

export interface Heap {
  /** Entries in heap order up to `size`, children of `i` at `2i + 1` and `2i + 2`. */
  readonly entries: Entry[]
  size: number
  /** Inserts the entry, or moves it to where its new key belongs. @hot */
  place(entry: Entry): void
  /** Takes the entry out; no effect when it is not in. @hot */
  remove(entry: Entry): void
}

export function createEntry(list: WaitingList, segment: number, heap: Heap): Entry {
  // Keys begin as NaN, so that the engine stores them as doubles from the start.
  return { key: NaN, tie: NaN, at: -1, slot: -1, list, segment, heap }
}

/** Gives an entry the key of a request under an order. @hot */
export function setKey(entry: Entry, chunks: Chunk[], slot: number, kind: Order['kind']): void {
  const chunk = chunks[slot >> CHUNK_BITS]!
  const i = slot & CHUNK_MASK
  const seq = chunk.seq[i]!
  entry.slot = slot
  entry.tie = seq
  entry.key =
    kind === 'arrival'
      ? seq
      : kind === 'deadline'
        ? chunk.deadlineMs[i]!
        : entry.list.orderKey + entry.list.ageing * chunk.arrivalMs[i]!
}

export function createHeap(): Heap {
  const entries: Entry[] = []

  /** Moves `entry`, for which there is room at `at`, up or down to where it belongs. */
  const settle = (entry: Entry, from: number): void => {
    const { size } = heap
    let at = from
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = entries[up]!
      if (!isBefore(entry, parent)) break
      entries[at] = parent
      parent.at = at
      at = up
    }
    for (;;) {
      let down = at * 2 + 1
      if (down >= size) break
      let child = entries[down]!
      if (down + 1 < size && isBefore(entries[down + 1]!, child)) child = entries[++down]!
      if (!isBefore(child, entry)) break
      entries[at] = child
      child.at = at
      at = down
    }
    entries[at] = entry
    entry.at = at
  }

  const heap: Heap = {
    entries,
    size: 0,
    place(entry) {
      settle(entry, entry.at === -1 ? heap.size++ : entry.at)
    },
    remove(entry) {
      const { at } = entry
      if (at === -1) return
      const last = entries[--heap.size]!
      if (last !== entry) settle(last, at)
      entry.at = -1
    },
  }
  return heap
}

/** @hot */
export function isBefore(a: Entry, b: Entry): boolean {
  return a.key < b.key || (a.key === b.key && a.tie < b.tie)
}
