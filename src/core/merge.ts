/**
 * @module
 * A lazy merge of waiting lists. The heaps over lists are walked, not emptied: taking `n` requests opens at most `2n` heap nodes,
 * however many lists or requests there are. Valid for one shape of the heaps (`WaitingSet.epoch`).
 *
 * The merge is a heap of its own, of two kinds of entry: places of lists as they stand in the heap that is walked (`at` says where), and
 * entries of the merge for requests behind the first of a list (`at` is -1). What follows from a request taken is put in when the next
 * one is asked for: whoever takes two does not pay for a third.
 */
import { bytes } from './columns.js'
import type { Groups } from './groups.js'
import { createEntry, type Entry, type Heap, isBefore, setKey } from './heap.js'
import type { Order } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, LOST, PROTECTED, type RequestTable } from './request-table.js'
import { SINGLE, URGENT, type WaitingList } from './waiting-lists.js'
import type { WaitingSet } from './waiting-set.js'

export interface Merge {
  clear(): void
  /**
   * Where something was said of a class: passes over the lists of classes none of whose statuses, `from` to `to`, have a verdict. Until
   * `clear`.
   */
  pick(said: number, from: number, to: number): void
  /** Opens the lists of one heap, whose order must be that of the merge. @hot */
  open(heap: Heap): void
  /** Adds one request. @hot */
  add(slot: number): void
  /** Takes the first request in order, or -1. @hot */
  take(): number
}

export function createMerge(
  { chunks }: RequestTable,
  { lists, heaps, visits }: WaitingSet,
  groups: Groups,
  kind: Order['kind'],
): Merge {
  const entries: Entry[] = []
  let size = 0
  /** Entries of the merge's own, in use up to `numOwn`. */
  const own: Entry[] = []
  let numOwn = 0
  /** The first entry was taken, and what follows from it is not put in; the next request of its list, or -1. */
  let isTaken = false
  let next = -1
  /** Classes whose lists are passed over, when there are any. */
  let picks = false
  const passes = bytes(groups.verdict.length / 3)

  /** Requests that were added one by one are not of a list that is passed over. */
  const isPassed = ({ list, segment }: Entry): boolean =>
    segment !== SINGLE && passes[list.classIndex] === 1

  const ownEntry = (list: WaitingList, segment: number): Entry => {
    if (numOwn === own.length) own.push(createEntry(list, segment, heaps.due))
    const entry = own[numOwn++]!
    entry.list = list
    entry.segment = segment
    return entry
  }

  const push = (entry: Entry): void => {
    let at = size++
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = entries[up]!
      if (!isBefore(entry, parent)) break
      entries[at] = parent
      at = up
    }
    entries[at] = entry
  }

  /** Puts an entry in the place of the first. */
  const replaceFirst = (entry: Entry): void => {
    let at = 0
    for (;;) {
      let down = at * 2 + 1
      if (down >= size) break
      let child = entries[down]!
      if (down + 1 < size && isBefore(entries[down + 1]!, child)) child = entries[++down]!
      if (!isBefore(child, entry)) break
      entries[at] = child
      at = down
    }
    entries[at] = entry
  }

  /** Puts in what follows from the request taken last: the next of its list, and the lists below it in their heap. */
  const follow = (): void => {
    isTaken = false
    const { list, segment, heap, at } = entries[0]!
    if (next !== -1) {
      const entry = at === -1 ? entries[0]! : ownEntry(list, segment)
      setKey(entry, chunks, next, kind)
      replaceFirst(entry)
    } else {
      size -= 1
      if (size > 0) replaceFirst(entries[size]!)
    }
    if (at === -1) return
    const child = at * 2 + 1
    if (child < heap.size) push(heap.entries[child]!)
    if (child + 1 < heap.size) push(heap.entries[child + 1]!)
  }

  return {
    clear() {
      size = 0
      numOwn = 0
      isTaken = false
      picks = false
    },
    pick(said, from, to) {
      if (!groups.saysClass) return
      picks = true
      for (let c = 0; c < passes.length; c++) {
        passes[c] = 1
        for (let status = from; status <= to; status++)
          if (groups.verdict[c * 3 + status] === said) passes[c] = 0
      }
    },
    open(heap) {
      if (heap.size > 0) push(heap.entries[0]!)
    },
    add(slot) {
      const list = lists.byId[chunks[slot >> CHUNK_BITS]!.list[slot & CHUNK_MASK]!]!
      const entry = ownEntry(list, SINGLE)
      setKey(entry, chunks, slot, kind)
      push(entry)
    },
    take() {
      if (isTaken) follow()
      while (picks && size > 0 && isPassed(entries[0]!)) {
        visits[0]! += 1
        next = -1
        follow()
      }
      if (size === 0) return -1
      const { slot, segment, list } = entries[0]!
      visits[0]! += 1
      next = chunks[slot >> CHUNK_BITS]!.next[slot & CHUNK_MASK]!
      if (
        segment === SINGLE ||
        ((segment === PROTECTED || segment === URGENT) && next === list.ordinary) ||
        (segment === LOST && next === list.live)
      )
        next = -1
      isTaken = true
      return slot
    },
  }
}
