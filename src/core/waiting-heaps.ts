/**
 * @module
 * Which list comes first: heaps over the waiting lists, per path and segment, and one over all by the instant of the next crossing.
 * They follow the cursors of the lists and are repaired list by list; nothing here looks at a request beyond the first of a segment.
 */
import { bytes } from './columns.js'
import { createEntry, createHeap, type Entry, type Heap, setKey } from './heap.js'
import type { Order } from './ports.js'
import type { ClassTable } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  LOST,
  ORDINARY,
  PROTECTED,
  type RequestTable,
} from './request-table.js'
import { ALL, CALM, LIVE, SINGLE, URGENT, type WaitingList } from './waiting-lists.js'

/** Crossing instants are taken this much early, relative to the terms: the exact test decides, a rounded key must not be late. */
const EARLY = 2 ** -50
/** The place in the heap of crossings, after those by segment. */
const DUE = SINGLE

export interface WaitingHeaps {
  /** Lists by the instant at which their next request crosses into protected or lost. */
  readonly due: Heap
  /**
   * Lists of a path with something in a segment, ordered as `waiting-lists.ts` says by their first such request. All but `LIVE`,
   * `PROTECTED` and `LOST` only after `track`.
   */
  of(path: number, segment: number): Heap
  /** Gives a new list its places. */
  adopt(list: WaitingList): void
  /** From now on keeps the lists of a path, those of its classes, by a segment that is not kept unasked; false when it does already. */
  track(path: number, segment: number, ofClass: readonly WaitingList[][]): boolean
  /** Brings one list's place in every heap up to date. @hot */
  repair(list: WaitingList): void
  /** The same where only the thresholds of the list changed. */
  repairDue(list: WaitingList): void
}

/** `visits[0]` counts lists repaired. */
export function createWaitingHeaps(
  { chunks }: RequestTable,
  { path, ofPath }: ClassTable,
  kind: Order['kind'],
  visits: Float64Array,
): WaitingHeaps {
  const heaps = Array.from({ length: 2 * SINGLE }, createHeap)
  const due = createHeap()
  /** Bits of the segments that are kept because they were asked for, by path. */
  const tracked = bytes(2)

  const of = (onPath: number, segment: number): Heap => heaps[onPath * SINGLE + segment]!

  /** Places a list by a request of its, which is the same as before where its arrival sequence is; -1 takes it out. */
  const place = (entry: Entry, slot: number, by: Order['kind']): void => {
    if (slot === -1) entry.heap.remove(entry)
    else if (entry.at === -1 || chunks[slot >> CHUNK_BITS]!.seq[slot & CHUNK_MASK] !== entry.tie) {
      setKey(entry, chunks, slot, by)
      entry.heap.place(entry)
    }
  }

  /** Key of the next crossing: of the first ordinary request into protected, or the first protected one into lost. */
  const repairDue = (list: WaitingList): void => {
    const { live, ordinary } = list
    const entry = list.places[DUE]!
    let key = Infinity
    if (ordinary !== -1) {
      const deadline = chunks[ordinary >> CHUNK_BITS]!.deadlineMs[ordinary & CHUNK_MASK]!
      const x = list.protectMs
      key = deadline - x - EARLY * (Math.abs(deadline) + Math.abs(x))
    }
    if (live !== ordinary) {
      const deadline = chunks[live >> CHUNK_BITS]!.deadlineMs[live & CHUNK_MASK]!
      const x = list.loseMs
      const lost = deadline - x - EARLY * (Math.abs(deadline) + Math.abs(x))
      if (lost < key) key = lost
    }
    // An infinite threshold is never crossed; infinity minus infinity is no key.
    if (!(key < Infinity)) due.remove(entry)
    else if (entry.at === -1 || entry.key !== key) {
      entry.key = key
      entry.tie = list.id
      due.place(entry)
    }
  }

  const repair = (list: WaitingList): void => {
    const { head, live, ordinary, places } = list
    visits[0]! += 1
    place(places[LIVE]!, live, kind)
    place(places[PROTECTED]!, live === ordinary ? -1 : live, kind)
    place(places[LOST]!, head === live ? -1 : head, 'deadline')
    const bits = tracked[path[list.classIndex]!]!
    if (bits !== 0) {
      if ((bits & (1 << ORDINARY)) !== 0) place(places[ORDINARY]!, ordinary, 'deadline')
      if ((bits & (1 << URGENT)) !== 0)
        place(places[URGENT]!, live === ordinary ? -1 : live, 'deadline')
      if ((bits & (1 << CALM)) !== 0) place(places[CALM]!, ordinary, kind)
      if ((bits & (1 << ALL)) !== 0) place(places[ALL]!, head, 'arrival')
    }
    repairDue(list)
  }

  return {
    due,
    of,
    adopt(list) {
      for (let segment = 0; segment < DUE; segment++)
        list.places.push(createEntry(list, segment, of(path[list.classIndex]!, segment)))
      list.places.push(createEntry(list, DUE, due))
    },
    track(onPath, segment, ofClass) {
      if ((tracked[onPath]! & (1 << segment)) !== 0) return false
      tracked[onPath]! |= 1 << segment
      for (const c of ofPath[onPath]!) for (const list of ofClass[c]!) repair(list)
      return true
    },
    repair,
    repairDue,
  }
}
