/**
 * @module
 * A lazy merge of waiting lists. The heaps over lists are walked, not emptied: taking `n` requests opens at most `2n` heap nodes,
 * however many lists or requests there are. Valid for one shape of the heaps (`WaitingSet.epoch`).
 */
import { createEntry, createHeap, type Entry, type Heap, setKey } from './heap.js'
import type { Order } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, LOST, PROTECTED, type RequestTable } from './request-table.js'
import { SINGLE, type WaitingList } from './waiting-lists.js'
import type { WaitingSet } from './waiting-set.js'

export interface Merge {
  clear(): void
  /** Opens the lists of one heap, whose order must be that of the merge. @hot */
  open(heap: Heap): void
  /** Adds one request. @hot */
  add(slot: number): void
  /** Takes the first request in order, or -1. @hot */
  take(): number
}

export function createMerge(
  { chunks }: RequestTable,
  { lists, visits }: WaitingSet,
  kind: Order['kind'],
): Merge {
  const heap = createHeap()
  const { entries } = heap

  /** A vacant entry, not yet placed. */
  const vacant = (list: WaitingList, segment: number, source: Heap, opened: number): Entry => {
    if (heap.size === entries.length) entries.push(createEntry(list, segment, source))
    const entry = entries[heap.size]!
    entry.at = -1
    entry.list = list
    entry.segment = segment
    entry.heap = source
    entry.opened = opened
    return entry
  }

  const openNode = (source: Heap, at: number): void => {
    if (at >= source.size) return
    const node = source.entries[at]!
    const entry = vacant(node.list, node.segment, source, at)
    entry.key = node.key
    entry.tie = node.tie
    entry.slot = node.slot
    heap.place(entry)
  }

  return {
    clear() {
      heap.size = 0
    },
    open(source) {
      openNode(source, 0)
    },
    add(slot) {
      const list = lists.byId[chunks[slot >> CHUNK_BITS]!.list[slot & CHUNK_MASK]!]!
      const entry = vacant(list, SINGLE, heap, -1)
      setKey(entry, chunks, slot, kind)
      heap.place(entry)
    },
    take() {
      if (heap.size === 0) return -1
      const entry = entries[0]!
      const { slot, list, segment, heap: source, opened } = entry
      visits[0]! += 1
      const next = chunks[slot >> CHUNK_BITS]!.next[slot & CHUNK_MASK]!
      const end =
        segment === PROTECTED ? list.firstOrdinary : segment === LOST ? list.firstLive : -1
      if (next === end || segment === SINGLE) heap.remove(entry)
      else {
        // The next request of the list takes the place of the one taken.
        entry.opened = -1
        setKey(entry, chunks, next, kind)
        heap.place(entry)
      }
      if (opened !== -1) {
        openNode(source, opened * 2 + 1)
        openNode(source, opened * 2 + 2)
      }
      return slot
    },
  }
}
