/**
 * @module
 * What happens to a request between arrival and end: legal transitions, and the counts and estimates that follow from them.
 *
 *     arrive ─▶ WAITING ─admit─▶ PREFILL ─progress─▶ DECODE ─handedOver─▶ HANDED_OVER ─enterDownstream─▶ DOWNSTREAM
 *                  │ pin            │ preempt  │ preempt                                                    │
 *                  └──▶ PREEMPTED ◀─┴──────────┘        finish / cancel ends any, shed one that waits         ▼
 *
 * A runtime whose slots are free at the last token says `enterDownstream` at once.
 */
import { expectNumber, HorizonError } from './errors.js'
import type { Outlooks } from './outlook.js'
import { LONG } from './request-class.js'
import {
  ADMITTED,
  ADMITTED_ORDINARY,
  CHUNK_BITS,
  CHUNK_MASK,
  type Chunk,
  DECODE,
  DOWNSTREAM,
  HANDED_OVER,
  LOST,
  MET,
  ORDINARY,
  PREEMPTED,
  PREFILL,
  RESPONDED,
  WAITING,
} from './request-table.js'
import { nameOf, type SchedulerParts } from './scheduler-parts.js'

const STATE_NAMES = [
  'free',
  'waiting',
  'preempted',
  'prefill',
  'decode',
  'handed over',
  'downstream',
] as const

/** Token counts are held as 32-bit integers. */
const MAX_TOKENS = 0x7fffffff

/**
 * Transitions of live requests. Each throws `ERR_CORE_STALE_HANDLE` for a handle that is not of one, `ERR_CORE_TRANSITION` where it is
 * not legal, and leaves the state as it was then.
 */
export interface Lifecycle {
  /** The engine gave the request a shared-stage slot. @hot */
  admit(handle: number): void
  /** Tokens done so far: cumulative, so that a report may come twice or a step late. @hot */
  progress(handle: number, prefillTokensDone: number, decodeTokensDone: number): void
  /** The engine took the slot back and will recompute: the request waits again, visible in every step. */
  preempt(handle: number): void
  /** A waiting request must not be hidden from now on: it holds KV, waits for remote input, or the engine says so. */
  pin(handle: number): void
  /** All its tokens are decoded, and it holds its slot until the next stage takes it (back-pressure). May be said twice. */
  handedOver(handle: number): void
  /** The request gave its shared-stage slot back: its downstream stage has it. */
  enterDownstream(handle: number): void
  /** The user got the first response at `nowMs` (TTFT, TTFO or end to end, by class). Returns whether the deadline was met. */
  firstResponse(handle: number, nowMs: number): boolean
  /** The request is done. */
  finish(handle: number): void
  /** The client gave up, or the runtime dropped it. */
  cancel(handle: number): void
  /**
   * Refuses a request that waits: it ends, and listeners of `shed` hear when it would have been served at the earliest, which is
   * returned too (ms on the scheduler's clock).
   */
  shed(handle: number): number
}

/** `earliestMs`: when a request that arrives now would have its first response (`outlook.ts`). */
export function createLifecycle(parts: SchedulerParts, outlook: Outlooks): Lifecycle {
  const { table, classes, signals, estimates, always, view, cells, announcer } = parts
  const { waitingSet: waiting, ids, handles } = parts
  const { counters, metCompleted, latency } = parts.recorder
  const { hears, announce } = announcer
  const { chunks, liveSlot } = table
  const { path } = classes
  const { inShared, inPrefill, ordinaryInShared, ordinaryInPrefill, inDownstream } = signals
  /** Whether what was lost counts as admitted as ordinary. */
  const countsLost = parts.policy.urgency.longOverdue === 'lost'

  /** Counts a request in (1) or out (-1) of those that prefill. */
  const countPrefill = (chunk: Chunk, i: number, by: number): void => {
    const c = chunk.classIndex[i]!
    inPrefill[c]! += by
    if ((chunk.flags[i]! & ADMITTED_ORDINARY) !== 0) ordinaryInPrefill[c]! += by
  }

  /** The same for those that hold a shared-stage slot. */
  const countShared = (chunk: Chunk, i: number, by: number): void => {
    const c = chunk.classIndex[i]!
    if (chunk.state[i] === PREFILL) countPrefill(chunk, i, by)
    else if (chunk.state[i] === HANDED_OVER) signals.handedOver[c]! += by
    inShared[c]! += by
    if ((chunk.flags[i]! & ADMITTED_ORDINARY) !== 0) ordinaryInShared[c]! += by
  }

  const refuse = (verb: string, state: number, expected: string): never => {
    throw new HorizonError('ERR_CORE_TRANSITION', `cannot ${verb} this request`, {
      expected,
      got: STATE_NAMES[state],
    })
  }

  const expectShared = (verb: string, state: number): void => {
    if (state !== PREFILL && state !== DECODE) refuse(verb, state, 'prefill or decode')
  }

  const expectLong = (c: number): void => {
    if (path[c] === LONG) return
    throw new HorizonError('ERR_CORE_TRANSITION', 'a short-path request has no downstream stage', {
      expected: 'a request of a long-path class',
      got: classes.names[c],
    })
  }

  const end = (handle: number, finished: boolean, wasShed: boolean): void => {
    const slot = liveSlot(handle)
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const state = chunk.state[i]!
    const c = chunk.classIndex[i]!
    const flags = chunk.flags[i]!
    if (finished && (flags & RESPONDED) === 0) {
      refuse(
        'finish',
        state,
        'past its first response; use cancel for a request that ends without one',
      )
    }
    if (state <= PREEMPTED) {
      if (state === WAITING) waiting.remove(slot)
      else always.unlink(slot)
      waiting.disturb()
    } else if (state === DOWNSTREAM) inDownstream[c]! -= 1
    else countShared(chunk, i, -1)
    if ((flags & ADMITTED) !== 0 && path[c] === LONG) estimates.leave(chunk, i)
    if (finished) {
      counters[c]!.completed += 1
      if ((flags & MET) !== 0) metCompleted[c]! += 1
    } else if (wasShed) counters[c]!.shed += 1
    else counters[c]!.cancelled += 1
    const request = hears('end') ? nameOf(parts, handle) : undefined
    table.release(slot)
    const id = ids.get(handle)
    if (id !== undefined) {
      ids.delete(handle)
      handles.delete(id)
    }
    if (request !== undefined) announce('end', handle, finished, request)
  }

  return {
    admit(handle) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const state = chunk.state[i]!
      const c = chunk.classIndex[i]!
      let flags = chunk.flags[i]!
      if (state === WAITING) waiting.remove(slot)
      else if (state === PREEMPTED) always.unlink(slot)
      else refuse('admit', state, 'waiting or preempted')
      // What the view has not given may stand where it reads next.
      if (chunk.yieldedAt[i] !== view.pass) waiting.disturb()
      // Of those that are always visible, only what was pinned was never admitted.
      if ((flags & ADMITTED) === 0) {
        flags |= ADMITTED
        const status = chunk.status[i]
        if (state === WAITING && (status === ORDINARY || (countsLost && status === LOST)))
          flags |= ADMITTED_ORDINARY
        chunk.flags[i] = flags
        chunk.admittedMs[i] = cells[0]!
        chunk.waitAtAdmitMs[i] = estimates.waitMs[c]!
        counters[c]!.admitted += 1
        if (path[c] === LONG) estimates.enter(chunk, i)
        outlook.admitted(chunk, i)
      }
      chunk.state[i] = PREFILL
      countShared(chunk, i, 1)
    },
    progress(handle, prefillTokensDone, decodeTokensDone) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const state = chunk.state[i]!
      expectNumber('ERR_CORE_INPUT', 'prefillTokensDone', prefillTokensDone, 0, MAX_TOKENS)
      expectNumber('ERR_CORE_INPUT', 'decodeTokensDone', decodeTokensDone, 0, MAX_TOKENS)
      if (state === WAITING) refuse('progress', state, 'admitted')
      // A report about a preempted request came late: its slot is gone, and with it what was done.
      if (state === PREEMPTED) return
      if (prefillTokensDone > chunk.prefillDone[i]!) chunk.prefillDone[i] = prefillTokensDone
      if (decodeTokensDone > chunk.decodeDone[i]!) chunk.decodeDone[i] = decodeTokensDone
      if (state !== PREFILL || chunk.prefillDone[i]! < chunk.promptTokens[i]!) return
      countPrefill(chunk, i, -1)
      chunk.state[i] = DECODE
    },
    preempt(handle) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      expectShared('preempt', chunk.state[i]!)
      countShared(chunk, i, -1)
      chunk.prefillDone[i] = 0
      counters[chunk.classIndex[i]!]!.preempted += 1
      always.link(slot)
    },
    pin(handle) {
      const slot = liveSlot(handle)
      const state = chunks[slot >> CHUNK_BITS]!.state[slot & CHUNK_MASK]!
      if (state !== WAITING) refuse('pin', state, 'waiting')
      waiting.remove(slot)
      waiting.disturb()
      always.link(slot)
    },
    handedOver(handle) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const c = chunk.classIndex[i]!
      if (chunk.state[i] === HANDED_OVER) return
      expectShared('handedOver', chunk.state[i]!)
      expectLong(c)
      if (chunk.state[i] === PREFILL) countPrefill(chunk, i, -1)
      chunk.state[i] = HANDED_OVER
      signals.handedOver[c]! += 1
    },
    enterDownstream(handle) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const c = chunk.classIndex[i]!
      if (chunk.state[i] !== HANDED_OVER) expectShared('enterDownstream', chunk.state[i]!)
      expectLong(c)
      countShared(chunk, i, -1)
      chunk.state[i] = DOWNSTREAM
      inDownstream[c]! += 1
    },
    firstResponse(handle, nowMs) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      const c = chunk.classIndex[i]!
      const flags = chunk.flags[i]!
      const arrivalMs = chunk.arrivalMs[i]!
      if ((flags & ADMITTED) === 0) refuse('firstResponse', chunk.state[i]!, 'admitted')
      if ((flags & RESPONDED) !== 0) {
        throw new HorizonError('ERR_CORE_TRANSITION', 'the request has had its first response', {
          hint: 'Report it once per request',
        })
      }
      // Not before its arrival.
      expectNumber('ERR_CORE_TIME', 'nowMs', nowMs, arrivalMs)
      const met = nowMs <= chunk.deadlineMs[i]! + chunk.graceMs[i]!
      chunk.flags[i] = flags | RESPONDED | (met ? MET : 0)
      latency[c]!.record(nowMs - arrivalMs)
      counters[c]!.responded += 1
      if (met) counters[c]!.met += 1
      estimates.observe(
        c,
        nowMs - chunk.admittedMs[i]! - chunk.waitAtAdmitMs[i]!,
        chunk.sharedWorkMs[i]! + chunk.downstreamWorkMs[i]!,
      )
      if (hears('firstResponse'))
        announce('firstResponse', handle, nowMs - arrivalMs, met, nameOf(parts, handle))
      return met
    },
    finish(handle) {
      end(handle, true, false)
    },
    cancel(handle) {
      end(handle, false, false)
    },
    shed(handle) {
      const slot = liveSlot(handle)
      const chunk = chunks[slot >> CHUNK_BITS]!
      const i = slot & CHUNK_MASK
      // What was preempted holds work that is done: an engine that gives it up cancels it.
      if (chunk.state[i] !== WAITING) refuse('shed', chunk.state[i]!, 'waiting')
      const earliestMs = outlook.earliestMs(
        chunk.classIndex[i]!,
        waiting.lists.byId[chunk.list[i]!]!.workMs,
      )
      if (hears('shed')) announce('shed', handle, earliestMs, nameOf(parts, handle))
      end(handle, false, true)
      return earliestMs
    },
  }
}
