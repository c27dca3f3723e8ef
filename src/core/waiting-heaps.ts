/**
 * @module
 * Which list comes first: heaps over the waiting lists, per class and segment, and one over all by the instant of the next crossing.
 * They follow the cursors of the lists and are repaired list by list; nothing here looks at a request beyond the first of a segment.
 */
import { grown, HeapSpace, ListHeap } from './list-heap.js'
import type { Order } from './ports.js'
import { CHUNK_BITS, CHUNK_MASK, type RequestTable } from './request-table.js'
import type { WaitingLists } from './waiting-lists.js'

/** Crossing instants are taken this much early, relative to the terms: the exact test decides, a rounded key must not be late. */
const EARLY = 2 ** -50

export class WaitingHeaps {
  /** Lists by the base order of their first live request, per class; and those with a protected one. */
  readonly liveHeap: readonly ListHeap[]
  readonly protectedHeap: readonly ListHeap[]
  /** Lists by deadline of their first ordinary / first lost request, per class. Ordinary only where `tracksOrdinary`. */
  readonly ordinaryHeap: readonly ListHeap[]
  readonly lostHeap: readonly ListHeap[]
  /** Lists by the instant at which their next request crosses into protected or lost. */
  readonly dueHeap: ListHeap
  readonly #table: RequestTable
  readonly #lists: WaitingLists
  readonly #kind: Order['kind']
  readonly #visits: Float64Array
  readonly #spaces: readonly HeapSpace[]
  readonly #tracksOrdinary: Uint8Array
  #dirty: Int32Array
  #isDirty: Uint8Array
  #numDirty = 0

  /** `visits[0]` counts lists repaired. */
  constructor(
    table: RequestTable,
    lists: WaitingLists,
    numClasses: number,
    kind: Order['kind'],
    visits: Float64Array,
  ) {
    this.#table = table
    this.#lists = lists
    this.#kind = kind
    this.#visits = visits
    this.#tracksOrdinary = new Uint8Array(numClasses)
    const { capacity } = lists
    this.#dirty = new Int32Array(capacity)
    this.#isDirty = new Uint8Array(capacity)
    const live = new HeapSpace(capacity)
    const guarded = new HeapSpace(capacity)
    const ordinary = new HeapSpace(capacity)
    const lost = new HeapSpace(capacity)
    const due = new HeapSpace(capacity)
    this.#spaces = [live, guarded, ordinary, lost, due]
    const heaps = (space: HeapSpace): ListHeap[] =>
      Array.from({ length: numClasses }, () => new ListHeap(space))
    this.liveHeap = heaps(live)
    this.protectedHeap = heaps(guarded)
    this.ordinaryHeap = heaps(ordinary)
    this.lostHeap = heaps(lost)
    this.dueHeap = new ListHeap(due)
  }

  /** From now on keeps the lists of a class by deadline of their first ordinary request; false when it does already. */
  trackOrdinary(classIndex: number): boolean {
    if (this.#tracksOrdinary[classIndex] === 1) return false
    this.#tracksOrdinary[classIndex] = 1
    for (const list of this.#lists.ofClass[classIndex]!) this.repair(list)
    return true
  }

  /** The list changed: it is repaired in the next `flush`. @hot */
  markDirty(list: number): void {
    if (this.#isDirty[list] === 1) return
    this.#isDirty[list] = 1
    this.#dirty[this.#numDirty++] = list
  }

  /** Repairs what is marked and takes empty lists of a per-request SLO back; false when nothing was. @hot */
  flush(): boolean {
    if (this.#numDirty === 0) return false
    for (let k = 0; k < this.#numDirty; k++) {
      const list = this.#dirty[k]!
      this.#isDirty[list] = 0
      this.repair(list)
      if (this.#lists.head[list] === -1) this.#lists.recycle(list)
    }
    this.#numDirty = 0
    return true
  }

  grow(capacity: number): void {
    for (const space of this.#spaces) space.grow(capacity)
    this.#dirty = grown(this.#dirty, capacity)
    this.#isDirty = grown(this.#isDirty, capacity)
  }

  /** Brings one list's place in every heap up to date. @hot */
  repair(list: number): void {
    const lists = this.#lists
    const c = lists.classIndex[list]!
    const head = lists.head[list]!
    const live = lists.firstLive[list]!
    const ordinary = lists.firstOrdinary[list]!
    this.#visits[0]! += 1
    if (live === -1) this.liveHeap[c]!.remove(list)
    else this.#place(this.liveHeap[c]!, list, live, this.#kind)
    if (live === ordinary) this.protectedHeap[c]!.remove(list)
    else this.#place(this.protectedHeap[c]!, list, live, this.#kind)
    if (this.#tracksOrdinary[c] === 1) {
      if (ordinary === -1) this.ordinaryHeap[c]!.remove(list)
      else this.#place(this.ordinaryHeap[c]!, list, ordinary, 'deadline')
    }
    if (head === live) this.lostHeap[c]!.remove(list)
    else this.#place(this.lostHeap[c]!, list, head, 'deadline')
    this.#placeDue(list, live, ordinary)
  }

  #place(heap: ListHeap, list: number, slot: number, kind: Order['kind']): void {
    const { space } = heap
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const tie = chunk.seq[i]!
    let key = tie
    if (kind === 'deadline') key = chunk.deadlineMs[i]!
    else if (kind === 'key') key = this.#lists.orderKey[list]!
    if (space.pos[list] !== -1 && space.key[list] === key && space.tie[list] === tie) return
    space.key[list] = key
    space.tie[list] = tie
    heap.fix(list)
  }

  /** Key of the next crossing of a list: of its first ordinary request into protected, or its first protected into lost. */
  #placeDue(list: number, live: number, ordinary: number): void {
    const lists = this.#lists
    const due = this.dueHeap.space
    let key = Number.POSITIVE_INFINITY
    if (ordinary !== -1) {
      const deadline =
        this.#table.chunks[ordinary >> CHUNK_BITS]!.deadlineMs[ordinary & CHUNK_MASK]!
      const x = lists.protectMs[list]!
      key = deadline - x - EARLY * (Math.abs(deadline) + Math.abs(x))
    }
    if (live !== ordinary) {
      const deadline = this.#table.chunks[live >> CHUNK_BITS]!.deadlineMs[live & CHUNK_MASK]!
      const x = lists.loseMs[list]!
      const lost = deadline - x - EARLY * (Math.abs(deadline) + Math.abs(x))
      if (lost < key) key = lost
    }
    // An infinite threshold is never crossed; infinity minus infinity is no key.
    if (!(key < Number.POSITIVE_INFINITY)) {
      this.dueHeap.remove(list)
      return
    }
    if (due.pos[list] !== -1 && due.key[list] === key) return
    due.key[list] = key
    due.tie[list] = list
    this.dueHeap.fix(list)
  }
}
