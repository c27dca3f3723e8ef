/**
 * @module
 * What happens to a request between arrival and end: legal transitions, and the counts and estimates that follow from them.
 *
 *     arrive ─▶ WAITING ─admit─▶ PREFILL ─progress─▶ DECODE ─enterDownstream─▶ DOWNSTREAM
 *                  │ pin            │ preempt  │ preempt                          │
 *                  └──▶ PREEMPTED ◀─┴──────────┘        finish / cancel ends any  ▼
 */
import { HorizonError } from './errors.js'
import type { Estimates } from './estimates.js'
import type { MetricsRecorder } from './metrics.js'
import { WORK } from './ports.js'
import { type ClassTable, LONG } from './request-class.js'
import {
  ADMITTED,
  ADMITTED_ORDINARY,
  CHUNK_BITS,
  CHUNK_MASK,
  type Chunk,
  DECODE,
  DOWNSTREAM,
  MET,
  ORDINARY,
  PREEMPTED,
  PREFILL,
  RESPONDED,
  type RequestTable,
  WAITING,
} from './request-table.js'
import type { Signals } from './signals.js'
import type { LazyView } from './view.js'
import type { WaitingSet } from './waiting-set.js'

const STATE_NAMES = ['free', 'waiting', 'preempted', 'prefill', 'decode', 'downstream'] as const

/** Token counts are held as 32-bit integers. */
const MAX_TOKENS = 0x7fffffff

export class Lifecycle {
  /** Head of the list of requests that wait but stay visible; `[0]`, so that the view can share it. */
  readonly alwaysHead: Int32Array = Int32Array.of(-1)
  readonly #table: RequestTable
  readonly #classes: ClassTable
  readonly #waiting: WaitingSet
  readonly #signals: Signals
  readonly #estimates: Estimates
  readonly #metrics: MetricsRecorder
  readonly #clock: Float64Array
  #nextSeq = new Float64Array(1)

  constructor(
    table: RequestTable,
    classes: ClassTable,
    waiting: WaitingSet,
    signals: Signals,
    estimates: Estimates,
    metrics: MetricsRecorder,
    clock: Float64Array,
  ) {
    this.#table = table
    this.#classes = classes
    this.#waiting = waiting
    this.#signals = signals
    this.#estimates = estimates
    this.#metrics = metrics
    this.#clock = clock
  }

  /** Puts a new request into `list`. `work` is what the profiler wrote; `sloCell[0]` its SLO in ms. The table has room. @hot */
  arrive(
    classIndex: number,
    promptTokens: number,
    list: number,
    work: Float64Array,
    sloCell: Float64Array,
  ): number {
    const slot = this.#table.allocate()
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const now = this.#clock[0]!
    chunk.classIndex[i] = classIndex
    chunk.state[i] = WAITING
    chunk.promptTokens[i] = promptTokens
    chunk.arrivalMs[i] = now
    chunk.deadlineMs[i] = now + sloCell[0]!
    chunk.seq[i] = this.#nextSeq[0]!
    this.#nextSeq[0]! += 1
    chunk.sharedWorkMs[i] = work[WORK.shared]!
    chunk.downstreamWorkMs[i] = work[WORK.downstream]!
    chunk.downstreamBusyMs[i] = work[WORK.downstreamBusy]!
    this.#waiting.append(slot, list)
    this.#metrics.arrived[classIndex]! += 1
    return slot
  }

  /** @hot */
  admit(slot: number, view: LazyView): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const state = chunk.state[i]!
    const c = chunk.classIndex[i]!
    const signals = this.#signals
    let ordinary = 0
    if (state === WAITING) {
      if (chunk.status[i] === ORDINARY) ordinary = ADMITTED_ORDINARY
      this.#waiting.remove(slot)
    } else if (state === PREEMPTED) this.#unlinkAlways(slot)
    else this.#refuse('admit', slot, 'waiting or preempted')
    // What the view has not given may stand where it reads next.
    if (chunk.yieldedAt[i] !== view.pass) this.#waiting.disturb()
    // Of those that are always visible, only what was pinned was never admitted.
    if ((chunk.flags[i]! & ADMITTED) === 0) {
      chunk.flags[i]! |= ADMITTED | ordinary
      chunk.admittedMs[i] = this.#clock[0]!
      chunk.waitAtAdmitMs[i] = this.#estimates.waitMs[c]!
      this.#metrics.admitted[c]! += 1
      if (this.#classes.path[c] === LONG) this.#estimates.enter(chunk, i)
    }
    chunk.state[i] = PREFILL
    signals.inShared[c]! += 1
    signals.inPrefill[c]! += 1
    if ((chunk.flags[i]! & ADMITTED_ORDINARY) !== 0) {
      signals.ordinaryInShared[c]! += 1
      signals.ordinaryInPrefill[c]! += 1
    }
  }

  /** A report about a preempted request came late: its slot is gone, and with it what was done. @hot */
  progress(slot: number, prefillTokensDone: number, decodeTokensDone: number): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    if (!(prefillTokensDone >= 0 && prefillTokensDone <= MAX_TOKENS))
      throw wrongTokens('prefillTokensDone', prefillTokensDone)
    if (!(decodeTokensDone >= 0 && decodeTokensDone <= MAX_TOKENS))
      throw wrongTokens('decodeTokensDone', decodeTokensDone)
    if (chunk.state[i] === WAITING) this.#refuse('progress', slot, 'admitted')
    if (chunk.state[i] === PREEMPTED) return
    if (prefillTokensDone > chunk.prefillDone[i]!) chunk.prefillDone[i] = prefillTokensDone
    if (decodeTokensDone > chunk.decodeDone[i]!) chunk.decodeDone[i] = decodeTokensDone
    if (chunk.state[i] !== PREFILL || chunk.prefillDone[i]! < chunk.promptTokens[i]!) return
    this.#leavePrefill(chunk, i)
    chunk.state[i] = DECODE
  }

  /** Back to waiting with its progress lost (recompute), visible in every step until admitted again. */
  preempt(slot: number): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const state = chunk.state[i]
    if (state !== PREFILL && state !== DECODE) this.#refuse('preempt', slot, 'prefill or decode')
    this.#leaveShared(chunk, i)
    chunk.prefillDone[i] = 0
    this.#metrics.preempted[chunk.classIndex[i]!]! += 1
    this.#linkAlways(slot)
  }

  /** A waiting request must not be hidden from now on: it holds KV, waits for remote input, or the engine says so. */
  pin(slot: number): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    if (chunk.state[slot & CHUNK_MASK] !== WAITING) this.#refuse('pin', slot, 'waiting')
    this.#waiting.remove(slot)
    this.#waiting.disturb()
    this.#linkAlways(slot)
  }

  enterDownstream(slot: number): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const state = chunk.state[i]
    if (state !== PREFILL && state !== DECODE)
      this.#refuse('enterDownstream', slot, 'prefill or decode')
    const c = chunk.classIndex[i]!
    if (this.#classes.path[c] !== LONG) {
      throw new HorizonError(
        'ERR_CORE_TRANSITION',
        'a short-path request has no downstream stage',
        {
          expected: 'a request of a long-path class',
          got: this.#classes.names[c],
        },
      )
    }
    this.#leaveShared(chunk, i)
    chunk.state[i] = DOWNSTREAM
    chunk.enteredDownstreamMs[i] = this.#clock[0]!
    this.#signals.inDownstream[c]! += 1
  }

  /** Records the first response; true when it met its deadline. */
  firstResponse(slot: number, nowMs: number): boolean {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    if ((chunk.flags[i]! & ADMITTED) === 0) this.#refuse('firstResponse', slot, 'admitted')
    if ((chunk.flags[i]! & RESPONDED) !== 0) {
      throw new HorizonError('ERR_CORE_TRANSITION', 'the request has had its first response', {
        hint: 'Report it once per request',
      })
    }
    if (!(nowMs >= chunk.arrivalMs[i]!) || nowMs === Number.POSITIVE_INFINITY) {
      throw new HorizonError('ERR_CORE_TIME', 'impossible time of the first response', {
        field: 'nowMs',
        expected: `a finite number of ms, at least the arrival at ${chunk.arrivalMs[i]}`,
        got: nowMs,
      })
    }
    const c = chunk.classIndex[i]!
    const metrics = this.#metrics
    const met = nowMs <= chunk.deadlineMs[i]!
    chunk.flags[i]! |= RESPONDED | (met ? MET : 0)
    metrics.latency[c]!.record(nowMs - chunk.arrivalMs[i]!)
    metrics.responded[c]! += 1
    if (met) metrics.met[c]! += 1
    this.#estimates.observe(
      c,
      nowMs - chunk.admittedMs[i]! - chunk.waitAtAdmitMs[i]!,
      chunk.sharedWorkMs[i]! + chunk.downstreamWorkMs[i]!,
    )
    return met
  }

  /** Ends a request: `finished` normally, or cancelled. */
  end(slot: number, finished: boolean): void {
    const chunk = this.#table.chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const state = chunk.state[i]!
    const c = chunk.classIndex[i]!
    const metrics = this.#metrics
    const signals = this.#signals
    if (finished && (chunk.flags[i]! & RESPONDED) === 0) {
      this.#refuse(
        'finish',
        slot,
        'past its first response; use cancel for a request that ends without one',
      )
    }
    if (state === WAITING) {
      this.#waiting.remove(slot)
      this.#waiting.disturb()
    } else if (state === PREEMPTED) {
      this.#unlinkAlways(slot)
      this.#waiting.disturb()
    } else if (state === DOWNSTREAM) signals.inDownstream[c]! -= 1
    else this.#leaveShared(chunk, i)
    if ((chunk.flags[i]! & ADMITTED) !== 0 && this.#classes.path[c] === LONG) {
      this.#estimates.leave(chunk, i)
    }
    if (finished) {
      metrics.completed[c]! += 1
      if ((chunk.flags[i]! & MET) !== 0) metrics.metCompleted[c]! += 1
    } else {
      metrics.cancelled[c]! += 1
    }
    this.#table.release(slot)
  }

  #leaveShared(chunk: Chunk, i: number): void {
    const signals = this.#signals
    const c = chunk.classIndex[i]!
    if (chunk.state[i] === PREFILL) this.#leavePrefill(chunk, i)
    signals.inShared[c]! -= 1
    if ((chunk.flags[i]! & ADMITTED_ORDINARY) !== 0) signals.ordinaryInShared[c]! -= 1
  }

  #leavePrefill(chunk: Chunk, i: number): void {
    const signals = this.#signals
    const c = chunk.classIndex[i]!
    signals.inPrefill[c]! -= 1
    if ((chunk.flags[i]! & ADMITTED_ORDINARY) !== 0) signals.ordinaryInPrefill[c]! -= 1
  }

  #linkAlways(slot: number): void {
    const { chunks } = this.#table
    const head = this.alwaysHead[0]!
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    chunk.state[i] = PREEMPTED
    chunk.prev[i] = -1
    chunk.next[i] = head
    if (head !== -1) chunks[head >> CHUNK_BITS]!.prev[head & CHUNK_MASK] = slot
    this.alwaysHead[0] = slot
    this.#signals.alwaysVisible += 1
  }

  /** The caller flushes or restarts a view that may stand on the request, unless the view has just given it. */
  #unlinkAlways(slot: number): void {
    const { chunks } = this.#table
    const chunk = chunks[slot >> CHUNK_BITS]!
    const i = slot & CHUNK_MASK
    const next = chunk.next[i]!
    const prev = chunk.prev[i]!
    if (prev === -1) this.alwaysHead[0] = next
    else chunks[prev >> CHUNK_BITS]!.next[prev & CHUNK_MASK] = next
    if (next !== -1) chunks[next >> CHUNK_BITS]!.prev[next & CHUNK_MASK] = prev
    this.#signals.alwaysVisible -= 1
  }

  #refuse(verb: string, slot: number, expected: string): never {
    const state = this.#table.chunks[slot >> CHUNK_BITS]!.state[slot & CHUNK_MASK]!
    throw new HorizonError('ERR_CORE_TRANSITION', `cannot ${verb} this request`, {
      expected,
      got: STATE_NAMES[state],
    })
  }
}

function wrongTokens(field: string, got: number): HorizonError {
  return new HorizonError('ERR_CORE_INPUT', 'impossible number of tokens', {
    field,
    expected: `a number from 0 to ${MAX_TOKENS}`,
    got,
  })
}
