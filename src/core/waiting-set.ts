/**
 * @module
 * Waiting requests, kept classified as lost | protected | ordinary without looking at each.
 *
 * Inside a list, deadline order is arrival order, and the estimate is one number. So whatever the clock, the guard, the slowdown or
 * the downstream wait are, a list reads `lost… protected… ordinary…`, and two cursors say where the segments begin:
 *
 *     head ──▶ [ lost … ) live ──▶ [ protected … ) ordinary ──▶ [ ordinary … ) tail
 *
 * Time only moves the cursors on; a smaller estimate moves them back. A heap over the lists, keyed by the instant of the next
 * crossing, names those that are due, and heaps per path name the list whose first visible request comes first. A step therefore
 * costs what changed and what is due, not what waits.
 *
 * Heaps are repaired in `flush`, not at once: `admit` must not move them under a view that is being read.
 */
import { doubles, integers } from './columns.js'
import { expectNumber } from './errors.js'
import type { Order, UrgencyRule } from './ports.js'
import { type ClassTable, LONG } from './request-class.js'
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
import { createWaitingHeaps, type WaitingHeaps } from './waiting-heaps.js'
import { ALL, createWaitingLists, type WaitingList, type WaitingLists } from './waiting-lists.js'

export interface WaitingSet {
  readonly lists: WaitingLists
  /** Which list comes first, per path and segment; read by the lazy merge. */
  readonly heaps: WaitingHeaps
  /** Requests by `class * 3 + status`. */
  readonly counts: Int32Array
  /** The same by `path * 3 + status`. */
  readonly byPath: Int32Array
  /** Requests that ever became protected or lost, by `class * 3 + status`. */
  readonly ever: Float64Array
  /** Work done, for the visit bound: requests tested by cursors, lists repaired, requests taken from views. */
  readonly visits: Float64Array
  /** Moves whenever heaps changed shape: a view that is being read starts anew. */
  epoch: number
  /** Called for each request whose status changed, when set; deferred by the scheduler until the decision is final. */
  onStatus: ((slot: number, status: number) => void) | undefined
  /** Puts a request at the end of its list, as ordinary until `refresh` says otherwise. Its row is filled in. @hot */
  append(slot: number, list: WaitingList): void
  /** Takes a waiting request out of its list. @hot */
  remove(slot: number): void
  /** Brings every list that is due up to the clock, and the heaps up to the lists. @hot */
  refresh(): void
  /**
   * The slowdown or wait of a class changed: recomputes thresholds and cursors, in O(lists of the class + status changes). No effect when
   * they are what they were in the last step.
   */
  reestimate(classIndex: number): void
  /** Repairs the heaps after arrivals, admissions and cancellations. @hot */
  flush(): void
  /** Repairs the heaps and makes a view that is being read start anew: a request that it may stand on is gone. @hot */
  disturb(): void
  /** From now on keeps the lists of a path by a segment that is not kept unasked (`waiting-lists.ts`): limits choose from there. */
  track(path: number, segment: number): void
  /** When the longest-waiting request of a path arrived, ms; Infinity when none waits. */
  oldestMs(path: number): number
  /** The earliest deadline of a path's lost requests, ms; Infinity without one. */
  earliestLostMs(path: number): number
}

/**
 * `clock[0]` is now in ms. `slowdown` and `waitMs` are per class and owned by the caller, who calls `reestimate` in the next step after
 * changing them.
 */
export function createWaitingSet(
  table: RequestTable,
  classes: ClassTable,
  order: Order,
  { uGuard, uLost, downstreamWait, longOverdue }: UrgencyRule,
  clock: Float64Array,
  slowdown: Float64Array,
  waitMs: Float64Array,
  mostOwnSlos: number,
): WaitingSet {
  const { chunks } = table
  const counts = integers(classes.count * 3)
  const byPath = integers(6)
  const ever = doubles(classes.count * 3)
  const visits = doubles(1)
  /** The estimates that thresholds are made of: those of the last step, whatever was published since. */
  const slowdownUsed = slowdown.slice()
  const waitUsed = waitMs.slice()
  const dirty: WaitingList[] = []
  let numDirty = 0
  const heaps = createWaitingHeaps(table, classes, order.kind, visits)
  const lists = createWaitingLists(classes, mostOwnSlos, (list, sloMs) => {
    const { classIndex, workMs } = list
    if (order.kind === 'key') {
      const priority = classes.priority[classIndex]!
      list.orderKey = order.key({ classIndex, priority, sloMs, workMs })
      list.ageing = order.ageing ?? 0
      const code = 'ERR_CORE_ORDER'
      expectNumber(code, `key of order ${order.name}`, list.orderKey, -Number.MAX_VALUE)
      expectNumber(code, `ageing of order ${order.name}`, list.ageing, 0)
    }
    heaps.adopt(list)
    setThresholds(list)
  })

  const setThresholds = (list: WaitingList): void => {
    const c = list.classIndex
    const estimateMs = slowdownUsed[c]! * list.workMs + waitUsed[c]!
    const isEnded = longOverdue === 'lost' && classes.path[c] === LONG
    const loseMs = uLost > 0 ? uLost * estimateMs : isEnded ? 0 : -Infinity
    const protectMs = uGuard > 0 ? uGuard * estimateMs : -Infinity
    list.loseMs = loseMs
    // Without a guard the protected segment is empty: a request goes from ordinary to lost.
    list.protectMs = Math.max(protectMs, loseMs)
  }

  const markDirty = (list: WaitingList): void => {
    if (list.isDirty) return
    list.isDirty = true
    dirty[numDirty++] = list
  }

  /** Makes requests from `slot` on `status` while their time has come, up to `end`; returns the first that stays what it is. */
  const forward = (list: WaitingList, from: number, end: number, status: number): number => {
    const limitMs = status === LOST ? list.loseMs : list.protectMs
    const bit = status === LOST ? EVER_LOST : uGuard > 0 ? EVER_PROTECTED : 0
    const now = clock[0]!
    const at = list.classIndex * 3 + status
    const group = classes.path[list.classIndex]! * 3 + status
    let slot = from
    while (slot !== end) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (!(chunk.deadlineMs[i]! - now < limitMs)) break
      chunk.status[i] = status
      counts[at - 1]! -= 1
      counts[at]! += 1
      byPath[group - 1]! -= 1
      byPath[group]! += 1
      visits[0]! += 1
      if ((~chunk.flags[i]! & bit) !== 0) {
        chunk.flags[i]! |= bit
        ever[at]! += 1
      }
      set.onStatus?.(slot, status)
      slot = chunk.next[i]!
    }
    return slot
  }

  /** Makes requests before `first`, where a status ends, one degree less urgent while their time is not come; returns the new end. */
  const backward = (list: WaitingList, first: number, status: number): number => {
    const limitMs = status === LOST ? list.loseMs : list.protectMs
    const now = clock[0]!
    const at = list.classIndex * 3 + status
    const group = classes.path[list.classIndex]! * 3 + status
    let end = first
    for (;;) {
      const slot = end === -1 ? list.tail : chunks[end >> CHUNK_BITS]!.prev[end & CHUNK_MASK]!
      if (slot === -1) return end
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      if (chunk.status[i] !== status || chunk.deadlineMs[i]! - now < limitMs) return end
      chunk.status[i] = status - 1
      counts[at]! -= 1
      counts[at - 1]! += 1
      byPath[group]! -= 1
      byPath[group - 1]! += 1
      visits[0]! += 1
      end = slot
    }
  }

  /** Cursors forward: time has passed, or the estimate grew. @hot */
  const advance = (list: WaitingList): void => {
    visits[0]! += 2
    list.ordinary = forward(list, list.ordinary, -1, PROTECTED)
    list.live = forward(list, list.live, list.ordinary, LOST)
  }

  const set: WaitingSet = {
    lists,
    heaps,
    counts,
    byPath,
    ever,
    visits,
    epoch: 0,
    onStatus: undefined,
    append(slot, list) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const { tail } = list
      chunk.list[i] = list.id
      chunk.prev[i] = tail
      chunk.next[i] = -1
      chunk.status[i] = ORDINARY
      list.tail = slot
      if (tail === -1) list.head = slot
      else chunks[tail >> CHUNK_BITS]!.next[tail & CHUNK_MASK] = slot
      counts[list.classIndex * 3]! += 1
      byPath[classes.path[list.classIndex]! * 3]! += 1
      if (list.ordinary !== -1) return
      list.ordinary = slot
      if (list.live === -1) list.live = slot
      markDirty(list)
    },
    remove(slot) {
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const list = lists.byId[chunk.list[i]!]!
      const c = list.classIndex
      const status = chunk.status[i]!
      const next = chunk.next[i]!
      const prev = chunk.prev[i]!
      if (next === -1) list.tail = prev
      else chunks[next >> CHUNK_BITS]!.prev[next & CHUNK_MASK] = prev
      counts[c * 3 + status]! -= 1
      byPath[classes.path[c]! * 3 + status]! -= 1
      if (prev === -1) list.head = next
      else chunks[prev >> CHUNK_BITS]!.next[prev & CHUNK_MASK] = next
      if (prev === -1 || list.live === slot || list.ordinary === slot) markDirty(list)
      if (list.live === slot) list.live = next
      if (list.ordinary === slot) list.ordinary = next
    },
    refresh() {
      set.flush()
      const { due } = heaps
      const now = clock[0]!
      let moved = false
      while (due.size > 0 && due.entries[0]!.key < now) {
        const entry = due.entries[0]!
        advance(entry.list)
        heaps.repair(entry.list)
        // Due again at once means that the early key fired before the exact test: look again when the clock has moved.
        if (entry.at === 0 && entry.key < now) {
          entry.key = now
          due.place(entry)
        }
        moved = true
      }
      if (moved) set.epoch += 1
    },
    reestimate(c) {
      // Compared in place: a variable that is a double here and 0 there would be boxed.
      if (slowdown[c] === slowdownUsed[c] && (!downstreamWait || waitMs[c] === waitUsed[c])) return
      slowdownUsed[c] = slowdown[c]!
      if (downstreamWait) waitUsed[c] = waitMs[c]!
      for (const list of lists.ofClass[c]!) {
        setThresholds(list)
        if (list.head === -1) continue
        const { live, ordinary } = list
        visits[0]! += 2
        list.live = backward(list, live, LOST)
        list.ordinary = backward(list, ordinary, PROTECTED)
        advance(list)
        if (list.live === live && list.ordinary === ordinary) heaps.repairDue(list)
        else markDirty(list)
      }
    },
    flush() {
      if (numDirty === 0) return
      for (let k = 0; k < numDirty; k++) {
        const list = dirty[k]!
        list.isDirty = false
        heaps.repair(list)
        if (list.head === -1) lists.retire(list)
      }
      numDirty = 0
      set.epoch += 1
    },
    disturb() {
      set.flush()
      set.epoch += 1
    },
    track(path, segment) {
      if (heaps.track(path, segment, lists.ofClass)) set.epoch += 1
    },
    oldestMs(path) {
      set.track(path, ALL)
      const heap = heaps.of(path, ALL)
      if (heap.size === 0) return Infinity
      const { slot } = heap.entries[0]!
      return chunks[slot >> CHUNK_BITS]!.arrivalMs[slot & CHUNK_MASK]!
    },
    earliestLostMs(path) {
      const heap = heaps.of(path, LOST)
      return heap.size === 0 ? Infinity : heap.entries[0]!.key
    },
  }
  return set
}
