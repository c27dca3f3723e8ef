/**
 * @module
 * Waiting requests, kept classified as lost | protected | ordinary without looking at each.
 *
 * Inside a list, deadline order is arrival order, and the estimate is one number. So whatever the clock, the guard, the slowdown or
 * the downstream wait are, a list reads `lost… protected… ordinary…`, and two cursors say where the segments begin:
 *
 *     head ──▶ [ lost … ) firstLive ──▶ [ protected … ) firstOrdinary ──▶ [ ordinary … ) tail
 *
 * Time only moves the cursors on; a smaller estimate moves them back. A heap over the lists, keyed by the instant of the next
 * crossing, names those that are due, and heaps per class name the list whose first visible request comes first. A step therefore
 * costs what changed and what is due, not what waits.
 *
 * Heaps are repaired in `flush`, not at once: `admit` must not move them under a view that is being read.
 */
import type { Order, UrgencyRule } from './ports.js'
import type { ClassTable } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  EVER_LOST,
  EVER_PROTECTED,
  LOST,
  ORDINARY,
  PROTECTED,
  type RequestTable,
} from './request-table.js'
import { WaitingHeaps } from './waiting-heaps.js'
import { WaitingLists } from './waiting-lists.js'

export class WaitingSet {
  readonly lists: WaitingLists
  /** Requests by `class * 3 + status`. */
  readonly counts: Int32Array
  /** Which list comes first, per class and segment; read by the lazy merge. */
  readonly heaps: WaitingHeaps
  /** Moves whenever heaps changed shape: a view that is being read starts anew. */
  epoch = 0
  /** Work done, for the visit bound: requests tested by cursors, lists repaired, requests taken from views. */
  readonly visits = new Float64Array(1)
  /** Called for each request whose status changed, when set; deferred by the scheduler until the decision is final. */
  onStatus: ((slot: number, status: number) => void) | undefined
  /** Requests that ever became protected or lost, per class. */
  readonly everProtected: Float64Array
  readonly everLost: Float64Array

  readonly #table: RequestTable
  readonly #clock: Float64Array
  readonly #rule: UrgencyRule
  readonly #slowdown: Float64Array
  readonly #waitMs: Float64Array

  /**
   * `clock[0]` is now in ms. `slowdown` and `waitMs` are per class and owned by the caller, who calls `reestimate` after
   * changing them.
   */
  constructor(
    table: RequestTable,
    classes: ClassTable,
    order: Order,
    rule: UrgencyRule,
    clock: Float64Array,
    slowdown: Float64Array,
    waitMs: Float64Array,
  ) {
    this.#table = table
    this.#clock = clock
    this.#rule = rule
    this.#slowdown = slowdown
    this.#waitMs = waitMs
    this.counts = new Int32Array(classes.count * 3)
    this.everProtected = new Float64Array(classes.count)
    this.everLost = new Float64Array(classes.count)
    const prioritised = classes.priority
    this.lists = new WaitingLists(
      classes,
      (capacity) => this.heaps.grow(capacity),
      (list, sloMs) => {
        this.#setThresholds(list)
        if (order.kind !== 'key') return
        const classIndex = this.lists.classIndex[list]!
        const priority = prioritised[classIndex]!
        this.lists.orderKey[list] = order.key({
          classIndex,
          priority,
          sloMs,
          workMs: this.lists.workMs[list]!,
        })
      },
    )
    this.heaps = new WaitingHeaps(table, this.lists, classes.count, order.kind, this.visits)
  }

  /** Puts a request at the end of its list, as ordinary until `refresh` says otherwise. Its row is filled in. @hot */
  append(slot: number, list: number): void {
    const { lists } = this
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const tail = lists.tail[list]!
    chunk.list[i] = list
    chunk.prev[i] = tail
    chunk.next[i] = -1
    chunk.status[i] = ORDINARY
    lists.tail[list] = slot
    if (tail === -1) lists.head[list] = slot
    else this.#table.chunks[tail >> CHUNK_BITS]!.next[tail & CHUNK_MASK] = slot
    const at = lists.classIndex[list]! * 3 + ORDINARY
    this.counts[at]! += 1
    if (lists.firstOrdinary[list] !== -1) return
    lists.firstOrdinary[list] = slot
    if (lists.firstLive[list] === -1) lists.firstLive[list] = slot
    this.heaps.markDirty(list)
  }

  /** Takes a waiting request out of its list. @hot */
  remove(slot: number): void {
    const { lists } = this
    const { chunks } = this.#table
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const list = chunk.list[i]!
    const next = chunk.next[i]!
    const prev = chunk.prev[i]!
    if (prev === -1) lists.head[list] = next
    else chunks[prev >> CHUNK_BITS]!.next[prev & CHUNK_MASK] = next
    if (next === -1) lists.tail[list] = prev
    else chunks[next >> CHUNK_BITS]!.prev[next & CHUNK_MASK] = prev
    const at = lists.classIndex[list]! * 3 + chunk.status[i]!
    this.counts[at]! -= 1
    const moves =
      lists.firstLive[list] === slot || lists.firstOrdinary[list] === slot || prev === -1
    if (lists.firstLive[list] === slot) lists.firstLive[list] = next
    if (lists.firstOrdinary[list] === slot) lists.firstOrdinary[list] = next
    if (moves) this.heaps.markDirty(list)
  }

  /** Brings every list that is due up to the clock, and the heaps up to the lists. @hot */
  refresh(): void {
    this.flush()
    const { dueHeap: heap } = this.heaps
    const due = heap.space
    const now = this.#clock[0]!
    let moved = false
    while (heap.size > 0 && due.key[heap.items[0]!]! < now) {
      const list = heap.items[0]!
      this.#advance(list)
      this.heaps.repair(list)
      // Due again at once means that the early key fired before the exact test: look again when the clock has moved.
      if (heap.size > 0 && heap.items[0] === list && due.key[list]! < now) {
        due.key[list] = now
        heap.fix(list)
      }
      moved = true
    }
    if (moved) this.epoch += 1
  }

  /** Recomputes thresholds and cursors of a class after its slowdown or wait changed: O(lists of the class + status changes). */
  reestimate(classIndex: number): void {
    for (const list of this.lists.ofClass[classIndex]!) {
      this.#setThresholds(list)
      if (this.lists.head[list] === -1) continue
      this.#retreat(list)
      this.#advance(list)
      this.heaps.markDirty(list)
    }
  }

  /** Repairs the heaps after arrivals, admissions and cancellations. @hot */
  flush(): void {
    if (this.heaps.flush()) this.epoch += 1
  }

  /** Repairs the heaps and makes a view that is being read start anew: a request that it may stand on is gone. @hot */
  disturb(): void {
    this.flush()
    this.epoch += 1
  }

  /** From now on keeps the lists of a class by deadline of their first ordinary request: limits choose from there. */
  trackOrdinary(classIndex: number): void {
    if (this.heaps.trackOrdinary(classIndex)) this.epoch += 1
  }

  /** Cursors forward: time has passed, or the estimate grew. @hot */
  #advance(list: number): void {
    const { lists, counts } = this
    const { chunks } = this.#table
    const now = this.#clock[0]!
    const classAt = lists.classIndex[list]! * 3
    const protectMs = lists.protectMs[list]!
    const loseMs = lists.loseMs[list]!
    let visits = 2
    let slot = lists.firstOrdinary[list]!
    while (slot !== -1) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (!(chunk.deadlineMs[i]! - now < protectMs)) break
      chunk.status[i] = PROTECTED
      counts[classAt]! -= 1
      counts[classAt + 1]! += 1
      if (this.#rule.uGuard > 0 && (chunk.flags[i]! & EVER_PROTECTED) === 0) {
        chunk.flags[i]! |= EVER_PROTECTED
        this.everProtected[lists.classIndex[list]!]! += 1
      }
      if (this.onStatus !== undefined) this.onStatus(slot, PROTECTED)
      slot = chunk.next[i]!
      visits += 1
    }
    lists.firstOrdinary[list] = slot
    const end = slot
    slot = lists.firstLive[list]!
    while (slot !== end) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (!(chunk.deadlineMs[i]! - now < loseMs)) break
      chunk.status[i] = LOST
      counts[classAt + 1]! -= 1
      counts[classAt + 2]! += 1
      if ((chunk.flags[i]! & EVER_LOST) === 0) {
        chunk.flags[i]! |= EVER_LOST
        this.everLost[lists.classIndex[list]!]! += 1
      }
      if (this.onStatus !== undefined) this.onStatus(slot, LOST)
      slot = chunk.next[i]!
      visits += 1
    }
    lists.firstLive[list] = slot
    this.visits[0]! += visits
  }

  /** Cursors back: the estimate shrank. */
  #retreat(list: number): void {
    const { lists, counts } = this
    const { chunks } = this.#table
    const now = this.#clock[0]!
    const classAt = lists.classIndex[list]! * 3
    let visits = 2
    const live = lists.firstLive[list]!
    let slot =
      live === -1 ? lists.tail[list]! : chunks[live >> CHUNK_BITS]!.prev[live & CHUNK_MASK]!
    while (slot !== -1) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (chunk.deadlineMs[i]! - now < lists.loseMs[list]!) break
      chunk.status[i] = PROTECTED
      counts[classAt + 2]! -= 1
      counts[classAt + 1]! += 1
      lists.firstLive[list] = slot
      slot = chunk.prev[i]!
      visits += 1
    }
    const ordinary = lists.firstOrdinary[list]!
    slot =
      ordinary === -1
        ? lists.tail[list]!
        : chunks[ordinary >> CHUNK_BITS]!.prev[ordinary & CHUNK_MASK]!
    while (slot !== -1) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (chunk.status[i] !== PROTECTED || chunk.deadlineMs[i]! - now < lists.protectMs[list]!)
        break
      chunk.status[i] = ORDINARY
      counts[classAt + 1]! -= 1
      counts[classAt]! += 1
      lists.firstOrdinary[list] = slot
      slot = chunk.prev[i]!
      visits += 1
    }
    this.visits[0]! += visits
  }

  #setThresholds(list: number): void {
    const { lists } = this
    const rule = this.#rule
    const c = lists.classIndex[list]!
    const estimateMs =
      this.#slowdown[c]! * lists.workMs[list]! + (rule.downstreamWait ? this.#waitMs[c]! : 0)
    const loseMs = rule.uLost > 0 ? rule.uLost * estimateMs : Number.NEGATIVE_INFINITY
    const protectMs = rule.uGuard > 0 ? rule.uGuard * estimateMs : Number.NEGATIVE_INFINITY
    lists.loseMs[list] = loseMs
    // Without a guard the protected segment is empty: a request goes from ordinary to lost.
    lists.protectMs[list] = Math.max(protectMs, loseMs)
  }
}
