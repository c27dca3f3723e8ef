/**
 * @module
 * The integrity check: recounts from the rows what the hot path keeps incrementally, and compares.
 */
import { HorizonError } from './errors.js'
import {
  ADMITTED_ORDINARY,
  CHUNK_BITS,
  CHUNK_MASK,
  DECODE,
  DOWNSTREAM,
  FREE,
  HANDED_OVER,
  LOST,
  ORDINARY,
  PREEMPTED,
  PREFILL,
  PROTECTED,
  WAITING,
} from './request-table.js'
import type { Scheduler } from './scheduler.js'

/**
 * Recounts everything and throws `ERR_CORE_INTEGRITY` for the first difference. For tests and for hunting bugs: O(all). A function of
 * `horizonserve/core` and no method, so that who never calls it does not load it.
 */
export function checkIntegrity(scheduler: Scheduler): void {
  const { table, classes, signals, waitingSet } = scheduler
  const counts = new Int32Array(classes.count * 3)
  const byPath = new Int32Array(6)
  const inShared = new Int32Array(classes.count)
  const inPrefill = new Int32Array(classes.count)
  const handedOver = new Int32Array(classes.count)
  const inDownstream = new Int32Array(classes.count)
  const ordinaryInShared = new Int32Array(classes.count)
  const ordinaryInPrefill = new Int32Array(classes.count)
  let live = 0
  let always = 0
  let waiting = 0
  for (const { classIndex, state: states, status, flags } of table.chunks) {
    for (const [i, state] of states.entries()) {
      if (state === FREE) continue
      const c = classIndex[i]!
      live += 1
      if (state === WAITING) {
        counts[c * 3 + status[i]!]! += 1
        byPath[classes.path[c]! * 3 + status[i]!]! += 1
        waiting += 1
      } else if (state === PREEMPTED) always += 1
      else if (state === DOWNSTREAM) inDownstream[c]! += 1
      else if (state === PREFILL || state === DECODE || state === HANDED_OVER) {
        inShared[c]! += 1
        if (state === PREFILL) inPrefill[c]! += 1
        if (state === HANDED_OVER) handedOver[c]! += 1
        if ((flags[i]! & ADMITTED_ORDINARY) === 0) continue
        ordinaryInShared[c]! += 1
        if (state === PREFILL) ordinaryInPrefill[c]! += 1
      }
    }
  }
  same('live requests', Int32Array.of(table.live), Int32Array.of(live))
  same('waiting by class and status', waitingSet.counts, counts)
  same('waiting by path and status', waitingSet.byPath, byPath)
  same('in the shared stage', signals.inShared, inShared)
  same('in prefill', signals.inPrefill, inPrefill)
  same('ordinary in the shared stage', signals.ordinaryInShared, ordinaryInShared)
  same('ordinary in prefill', signals.ordinaryInPrefill, ordinaryInPrefill)
  same('handed over', signals.handedOver, handedOver)
  same('downstream', signals.inDownstream, inDownstream)
  same('always visible', Int32Array.of(signals.alwaysVisible), Int32Array.of(always))
  same('linked as always visible', Int32Array.of(walkAlways(scheduler)), Int32Array.of(always))
  same('linked in lists', Int32Array.of(walkLists(scheduler)), Int32Array.of(waiting))
}

/** Follows the list of what waits but is never hidden. */
function walkAlways({ table, always }: Scheduler): number {
  let linked = 0
  let prev = -1
  for (let slot = always.head[0]!; slot !== -1 && linked <= table.live; linked++) {
    const chunk = table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    if (chunk.state[i] !== PREEMPTED || chunk.prev[i] !== prev)
      fail('order of the always-visible list', prev, chunk.prev[i]!)
    prev = slot
    slot = chunk.next[i]!
  }
  return linked
}

/** Follows every list; statuses must read lost, protected, ordinary, with the cursors at the seams. */
function walkLists(scheduler: Scheduler): number {
  const { table, waitingSet } = scheduler
  const { lists } = waitingSet
  let linked = 0
  for (const ofClass of lists.ofClass) {
    for (const list of ofClass) {
      let before = LOST as number
      let prev = -1
      for (let slot = list.head; slot !== -1; ) {
        const chunk = table.chunks[slot >> CHUNK_BITS]!
        const i = slot & CHUNK_MASK
        const status = chunk.status[i]!
        if (status > before || chunk.prev[i] !== prev || chunk.list[i] !== list.id)
          fail('order of a list', slot, list.id)
        if (status !== LOST && before === LOST && list.live !== slot)
          fail('first live of a list', slot, list.id)
        if (status === ORDINARY && before !== ORDINARY && list.ordinary !== slot)
          fail('first ordinary of a list', slot, list.id)
        before = status
        prev = slot
        linked += 1
        slot = chunk.next[i]!
      }
      if (list.tail !== prev) fail('tail of a list', prev, list.id)
      if (before !== ORDINARY && list.ordinary !== -1)
        fail('first ordinary of a list', list.ordinary, list.id)
      if (before === LOST && list.live !== -1) fail('first live of a list', list.live, list.id)
      if (before === PROTECTED && list.live === -1) fail('first live of a list', -1, list.id)
    }
  }
  return linked
}

function same(what: string, kept: Int32Array, counted: Int32Array): void {
  for (let i = 0; i < kept.length; i++) {
    if (kept[i] !== counted[i]) fail(what, counted[i]!, kept[i]!)
  }
}

function fail(what: string, expected: number, got: number): never {
  throw new HorizonError('ERR_CORE_INTEGRITY', `the books do not balance: ${what}`, {
    expected: String(expected),
    got,
  })
}
