/**
 * @module
 * The view of one step: which waiting requests the engine may see, read lazily in the base order. Order of reading: requests that
 * are always visible (preempted last come first, as engines put them back), the rescued request, all others in the base order,
 * demoted lost ones by deadline. Requests that run are not listed: nothing ever hides them.
 *
 * A view lives until the next step. `admit` may be called while it is read; any other change makes it start anew and skip what
 * it has already given.
 */
import { createChoice } from './choice.js'
import { type Groups, HIDDEN, SHOWN } from './groups.js'
import { createMerge } from './merge.js'
import type { Order } from './ports.js'
import { LONG, SHORT } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  LOST,
  ORDINARY,
  PROTECTED,
  type RequestTable,
  WAITING,
} from './request-table.js'
import { CALM, LIVE } from './waiting-lists.js'
import type { WaitingSet } from './waiting-set.js'

/** Handles of the visible requests of one step, in the order in which the engine should try them. */
export interface View extends Iterable<number> {
  /** The next visible request, or 0 when there is none left. The same as the iterator, without its protocol. */
  take(): number
}

export interface LazyView extends View, Iterator<number> {
  [Symbol.iterator](): LazyView
  /** Number of the pass over the view; stamps requests as given. */
  pass: number
  /** Makes the view that of a new step, once its verdict is settled. @hot */
  begin(step: number): void
  /** Whether a live request may be scheduled in this step. Everything but a hidden waiting request may. @hot */
  shows(slot: number): boolean
  /** Whether the rescue of this step shows a request that would be hidden without it. */
  rescuesHidden(): boolean
}

/** Stages of reading. */
const ALWAYS = 0
const RESCUED = 1
const MERGED = 2
const DEMOTED = 3

/** `alwaysHead[0]` is the head of the list of always-visible requests, linked by `next`. */
export function createView(
  table: RequestTable,
  waiting: WaitingSet,
  groups: Groups,
  order: Order,
  alwaysHead: Int32Array,
): LazyView {
  const { chunks, slotBits } = table
  const { heaps } = waiting
  const { verdict, verdictOf } = groups
  const base = createMerge(table, waiting, groups, order.kind)
  const byDeadline = createMerge(table, waiting, groups, 'deadline')
  const choice = createChoice(table, waiting, groups, byDeadline)
  const result = { done: false, value: 0 }
  let stage = ALWAYS
  let epoch = -1
  let alwaysAt = -1
  /** A policy may show ordinary requests of a class and hide protected ones; lists hold the two in one run. */
  let isMixed = false

  const restart = (): void => {
    view.pass = (view.pass + 1) & 0x7fffffff
    epoch = -1
  }

  const openBase = (): void => {
    base.clear()
    base.pick(SHOWN, ORDINARY, PROTECTED)
    isMixed = groups.saysClass
    for (let path = SHORT; path <= LONG; path++) {
      const showsProtected = verdictOf[path * 3 + PROTECTED] === SHOWN
      if (verdictOf[path * 3 + ORDINARY] === SHOWN) {
        if (!showsProtected) waiting.track(path, CALM)
        base.open(heaps.of(path, showsProtected ? LIVE : CALM))
      } else if (showsProtected) base.open(heaps.of(path, PROTECTED))
    }
    choice.addTo(base, false)
  }

  const openDemoted = (): void => {
    // A rescued request may have left a lost segment since; the merge in base order is read, so heaps may move now.
    waiting.flush()
    epoch = waiting.epoch
    byDeadline.clear()
    byDeadline.pick(SHOWN, LOST, LOST)
    for (let path = SHORT; path <= LONG; path++)
      if (verdictOf[path * 3 + LOST] === SHOWN) byDeadline.open(heaps.of(path, LOST))
    choice.addTo(byDeadline, true)
  }

  const nextSlot = (): number => {
    if (stage === MERGED) {
      const slot = base.take()
      if (slot !== -1) return slot
      stage = DEMOTED
      openDemoted()
    }
    if (stage === DEMOTED) return byDeadline.take()
    if (stage === ALWAYS) {
      const slot = alwaysAt
      if (slot !== -1) {
        alwaysAt = chunks[slot >> CHUNK_BITS]!.next[slot & CHUNK_MASK]!
        return slot
      }
      stage = RESCUED
      choice.make()
      openBase()
    }
    stage = MERGED
    if (choice.rescued !== -1 && choice.holds(choice.rescued)) return choice.rescued
    return nextSlot()
  }

  const view: LazyView = {
    pass: 0,
    begin(step) {
      choice.begin(step)
      restart()
    },
    take() {
      for (;;) {
        if (epoch !== waiting.epoch) {
          waiting.flush()
          epoch = waiting.epoch
          stage = ALWAYS
          alwaysAt = alwaysHead[0]!
        }
        const slot = nextSlot()
        if (slot === -1) return 0
        const chunk = chunks[slot >> CHUNK_BITS]!
        const i = slot & CHUNK_MASK
        if (chunk.yieldedAt[i] === view.pass) continue
        if (
          isMixed &&
          stage === MERGED &&
          verdict[chunk.classIndex[i]! * 3 + chunk.status[i]!] !== SHOWN &&
          chunk.chosenAt[i] !== choice.step
        )
          continue
        chunk.yieldedAt[i] = view.pass
        return (chunk.generation[i]! << slotBits) | slot
      }
    },
    shows(slot) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (chunk.state[i] !== WAITING) return true
      const said = verdict[chunk.classIndex[i]! * 3 + chunk.status[i]!]
      if (said === SHOWN) return true
      if (said === HIDDEN && !groups.rescues) return false
      choice.make()
      return chunk.chosenAt[i] === choice.step
    },
    rescuesHidden() {
      choice.make()
      return choice.rescuedWasHidden
    },
    [Symbol.iterator]() {
      restart()
      return view
    },
    next() {
      result.value = view.take()
      result.done = result.value === 0
      return result as IteratorResult<number>
    },
    return() {
      result.done = true
      return result as IteratorResult<number>
    },
  }
  return view
}
