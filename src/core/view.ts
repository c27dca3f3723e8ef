/**
 * @module
 * The view of one step: which waiting requests the engine may see, read lazily in the base order. Order of reading: requests that
 * are always visible (preempted last come first, as engines put them back), the rescued request, all others in the base order,
 * demoted lost ones by deadline. Requests that run are not listed: nothing ever hides them.
 *
 * A view lives until the next step. `admit` may be called while it is read; any other change makes it start anew and skip what
 * it has already given.
 */
import { type Groups, HIDDEN, LIMITED, SHOWN } from './groups.js'
import { grown } from './list-heap.js'
import { Merge } from './merge.js'
import type { Order } from './ports.js'
import type { ClassTable } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  LOST,
  ORDINARY,
  PROTECTED,
  type RequestTable,
  WAITING,
} from './request-table.js'
import type { WaitingSet } from './waiting-set.js'

/** Handles of the visible requests of one step, in the order in which the engine should try them. */
export interface View extends Iterable<number> {
  /** The next visible request, or 0 when there is none left. The same as the iterator, without its protocol. */
  take(): number
}

/** Stages of reading. */
const ALWAYS = 0
const RESCUED = 1
const MERGED = 2
const DEMOTED = 3
const DONE = 4

export class LazyView implements View, IterableIterator<number> {
  /** Number of the pass over the view; stamps requests as given. */
  pass = 0
  readonly #table: RequestTable
  readonly #waiting: WaitingSet
  readonly #groups: Groups
  readonly #classes: ClassTable
  readonly #base: Merge
  readonly #byDeadline: Merge
  readonly #result = { done: false, value: 0 }
  #stage = DONE
  #epoch = -1
  #alwaysAt = -1
  /** Head of the list of always-visible requests, linked by `next`; owned by the scheduler. */
  #alwaysHead: Int32Array
  #chosen = new Int32Array(16)
  #numChosen = 0
  #numChosenOrdinary = 0
  #isChosen = true
  #rescued = -1
  #rescuedWasHidden = false
  #step = -1

  constructor(
    table: RequestTable,
    waiting: WaitingSet,
    groups: Groups,
    classes: ClassTable,
    order: Order,
    alwaysHead: Int32Array,
  ) {
    this.#table = table
    this.#waiting = waiting
    this.#groups = groups
    this.#classes = classes
    this.#base = new Merge(table, waiting, order.kind)
    this.#byDeadline = new Merge(table, waiting, 'deadline')
    this.#alwaysHead = alwaysHead
  }

  /** Makes the view that of a new step, once its verdict is settled. @hot */
  begin(step: number): void {
    this.#step = step
    this.#isChosen = false
    this.#restart()
  }

  [Symbol.iterator](): this {
    this.#restart()
    return this
  }

  next(): IteratorResult<number> {
    const handle = this.take()
    this.#result.done = handle === 0
    this.#result.value = handle
    return this.#result as IteratorResult<number>
  }

  return(): IteratorResult<number> {
    this.#result.done = true
    return this.#result as IteratorResult<number>
  }

  /** @hot */
  take(): number {
    const { chunks } = this.#table
    for (;;) {
      if (this.#epoch !== this.#waiting.epoch) this.#open()
      const slot = this.#nextSlot()
      if (slot === -1) return 0
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (chunk.yieldedAt[i] === this.pass) continue
      if (
        this.#stage === MERGED &&
        !this.#showsMerged(chunk.classIndex[i]!, chunk.status[i]!, chunk.chosenAt[i]!)
      )
        continue
      chunk.yieldedAt[i] = this.pass
      return this.#table.handleOf(slot)
    }
  }

  /** Whether a live request may be scheduled in this step. Everything but a hidden waiting request may. @hot */
  shows(slot: number): boolean {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    if (chunk.state[i] !== WAITING) return true
    const verdict = this.#groups.verdict[chunk.classIndex[i]! * 3 + chunk.status[i]!]
    if (verdict === SHOWN) return true
    if (verdict === HIDDEN && !this.#groups.rescues) return false
    this.#choose()
    return chunk.chosenAt[i] === this.#step
  }

  /** Whether the rescue of this step shows a request that would be hidden without it. */
  rescuesHidden(): boolean {
    this.#choose()
    return this.#rescuedWasHidden
  }

  /** A policy may show ordinary requests and hide protected ones; lists hold the two in one run. */
  #showsMerged(classIndex: number, status: number, chosenAt: number): boolean {
    return this.#groups.verdict[classIndex * 3 + status] === SHOWN || chosenAt === this.#step
  }

  #restart(): void {
    this.pass = (this.pass + 1) & 0x7fffffff
    this.#epoch = -1
  }

  #open(): void {
    this.#waiting.flush()
    this.#epoch = this.#waiting.epoch
    this.#stage = ALWAYS
    this.#alwaysAt = this.#alwaysHead[0]!
  }

  #nextSlot(): number {
    if (this.#stage === ALWAYS) {
      const slot = this.#alwaysAt
      if (slot !== -1) {
        this.#alwaysAt = this.#table.chunks[slot >> CHUNK_BITS]!.next[slot & CHUNK_MASK]!
        return slot
      }
      this.#stage = RESCUED
      this.#choose()
      this.#openBase()
    }
    if (this.#stage === RESCUED) {
      this.#stage = MERGED
      if (this.#rescued !== -1 && this.#stillWaits(this.#rescued)) return this.#rescued
    }
    if (this.#stage === MERGED) {
      const slot = this.#base.take()
      if (slot !== -1) return slot
      this.#stage = DEMOTED
      this.#openDemoted()
    }
    if (this.#stage === DEMOTED) {
      const slot = this.#byDeadline.take()
      if (slot !== -1) return slot
      this.#stage = DONE
    }
    return -1
  }

  #openBase(): void {
    const { verdict } = this.#groups
    this.#base.clear()
    for (let c = 0; c < this.#classes.count; c++) {
      if (verdict[c * 3 + ORDINARY] === SHOWN) this.#base.openLive(c)
      else if (verdict[c * 3 + PROTECTED] === SHOWN) this.#base.openProtected(c)
    }
    for (let k = 0; k < this.#numChosenOrdinary; k++) {
      if (this.#stillWaits(this.#chosen[k]!)) this.#base.add(this.#chosen[k]!)
    }
  }

  #openDemoted(): void {
    const { verdict } = this.#groups
    // A rescued request may have left a lost segment since; the merge in base order is read, so heaps may move now.
    this.#waiting.flush()
    this.#epoch = this.#waiting.epoch
    this.#byDeadline.clear()
    for (let c = 0; c < this.#classes.count; c++) {
      if (verdict[c * 3 + LOST] === SHOWN) this.#byDeadline.openLost(c)
    }
    for (let k = this.#numChosenOrdinary; k < this.#numChosen; k++) {
      if (this.#stillWaits(this.#chosen[k]!)) this.#byDeadline.add(this.#chosen[k]!)
    }
  }

  #stillWaits(slot: number): boolean {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    return chunk.state[i] === WAITING && chunk.chosenAt[i] === this.#step
  }

  /** Picks the members of limited groups and the rescued request, once per step, on first need. */
  #choose(): void {
    if (this.#isChosen) return
    this.#isChosen = true
    this.#numChosen = 0
    for (let path = 0; path < 2; path++) this.#chooseWithin(path, ORDINARY)
    this.#numChosenOrdinary = this.#numChosen
    for (let path = 0; path < 2; path++) this.#chooseWithin(path, LOST)
    this.#rescued = this.#groups.rescues ? this.#firstLost() : -1
    this.#rescuedWasHidden = this.#rescued !== -1 && !this.shows(this.#rescued)
    if (this.#rescued !== -1) this.#stamp(this.#rescued)
  }

  #chooseWithin(path: number, status: number): void {
    let left = this.#groups.limits[path * 3 + status]!
    if (left <= 0) return
    const byDeadline = this.#byDeadline
    const classes = this.#classes
    const groups = this.#groups
    byDeadline.clear()
    for (let c = 0; c < classes.count; c++) {
      if (classes.path[c] !== path || groups.verdict[c * 3 + status] !== LIMITED) continue
      if (status === LOST) {
        byDeadline.openLost(c)
      } else {
        this.#waiting.trackOrdinary(c)
        byDeadline.openOrdinary(c)
      }
    }
    for (; left > 0; left--) {
      const slot = byDeadline.take()
      if (slot === -1) return
      if (this.#numChosen === this.#chosen.length) {
        this.#chosen = grown(this.#chosen, this.#numChosen * 2)
      }
      this.#chosen[this.#numChosen++] = slot
      this.#stamp(slot)
    }
  }

  #firstLost(): number {
    this.#byDeadline.clear()
    for (let c = 0; c < this.#classes.count; c++) this.#byDeadline.openLost(c)
    return this.#byDeadline.take()
  }

  #stamp(slot: number): void {
    this.#table.chunks[slot >> CHUNK_BITS]!.chosenAt[slot & CHUNK_MASK] = this.#step
  }
}
