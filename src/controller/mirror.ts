/**
 * @module
 * The engine's requests as the core sees them: applies the engine's events to a core scheduler. Events may be lost, doubled or
 * late, so every one is checked against what the mirror knows; one that does not fit is counted and skipped.
 */
import type { EngineEvent } from '../adapters/events.js'
import { ARRIVAL } from '../adapters/events.js'
import { KIND } from '../adapters/layout.js'
import { INPUT, LONG, type Scheduler } from '../core/index.js'
import { createRequestsById, type Mirrored } from './requests-by-id.js'

/** What the events said, since the start. `arrived` is `finished` and `aborted` and what lives, at any moment. */
export interface MirrorCounts {
  events: number
  /** Events that did not fit what the mirror knew. */
  misfits: number
  arrived: number
  finished: number
  /** Ended without an answer, those included whose end nobody told. */
  aborted: number
  /** Of the aborted: those whose end nobody told. A resync did not name them, or no later stage did for too long. */
  forgotten: number
  steps: number
}

/** A request that got its first response. */
export type OnFirstResponse = (classIndex: number, latencyMs: number, met: boolean) => void

/** The mirror of one engine's shared stage. */
export interface EngineMirror {
  readonly counts: MirrorCounts
  /** Applies one event; false when it is of a later stage and names no request of this engine. */
  apply(event: Readonly<EngineEvent>): boolean
  /** Engine slot of a core handle, 0 when it has none. */
  slotOf(handle: number): number
  /** Requests that live, in the shared stage and after it. */
  readonly size: number
  /** A time of the engine as the core can take it: never before one it has seen, ms. */
  advance(nowMs: number): number
  /**
   * Lets go of what left the shared stage and was never heard of again. Call now and then; most calls compare two numbers.
   * `isDownstreamIdle`: no later stage has work.
   */
  expire(nowMs: number, isDownstreamIdle: boolean): void
}

/** An event from further ahead than this is garbled: it would put the core's clock where nothing ever meets a deadline. */
const MAX_AHEAD_MS = 60_000
/** A request after the shared stage of which nothing was heard for so long is gone. A client that leaves between two stages does that. */
const UNHEARD_MS = 120_000
/** The same while all later stages are idle: what is on its way between stages takes no longer. */
const UNHEARD_IDLE_MS = 5_000
const EXPIRE_EVERY_MS = 1_000
/** Slots beyond this are garbled. */
const MAX_SLOT = 1 << 22

/**
 * Events of stage 0 drive the core. Where `lastStage` is a later one, a long-path request has its first response and its end in the last
 * stage; there it is found by the hash of its external id, for every stage gives it a slot of its own. Several requests of one external id
 * are told apart by their order.
 */
export function createMirror(
  scheduler: Scheduler,
  onFirstResponse?: OnFirstResponse,
  lastStage: () => number = () => 0,
  clockMs: () => number = () => Number.POSITIVE_INFINITY,
): EngineMirror {
  const counts: MirrorCounts = {
    events: 0,
    misfits: 0,
    arrived: 0,
    finished: 0,
    aborted: 0,
    forgotten: 0,
    steps: 0,
  }
  /** Those in the shared stage by their engine slot, and all by their core handle. */
  const bySlot = new Map<number, Mirrored>()
  const byHandle = new Map<number, Mirrored>()
  /** Long-path requests, wherever they are. */
  const byId = createRequestsById()
  /** Requests named in a resync under way, by stage. */
  const named: (Set<Mirrored> | undefined)[] = []

  let latestMs = 0
  let expireAt = 0
  const advance = (nowMs: number): number => {
    if (nowMs > latestMs) latestMs = nowMs
    return latestMs
  }

  const leaveSlot = (request: Mirrored): void => {
    if (request.slot !== 0) bySlot.delete(request.slot)
    request.slot = 0
  }
  const end = (request: Mirrored, finished: boolean): void => {
    leaveSlot(request)
    byHandle.delete(request.handle)
    if (request.isLong) byId.remove(request)
    if (scheduler.has(request.handle)) {
      if (finished && request.responded) scheduler.finish(request.handle)
      else scheduler.cancel(request.handle)
    }
    if (finished) counts.finished += 1
    else counts.aborted += 1
  }
  const forget = (request: Mirrored): void => {
    counts.forgotten += 1
    end(request, false)
  }

  const arrive = (event: Readonly<EngineEvent>): void => {
    const slot = event.a
    if (slot === 0 || slot > MAX_SLOT || event.classIndex >= scheduler.classes.count) {
      counts.misfits += 1
      return
    }
    const isAgain = (event.f & ARRIVAL.resync) !== 0
    const nowMs = Math.max(0, Number(event.timeNs) / 1e6)
    const known = bySlot.get(slot)
    if (known !== undefined) {
      if (known.idLow === event.idLow && known.arrivalMs === nowMs) {
        named[0]?.add(known)
        if (!isAgain) unpin(known, event)
        return
      }
      // The slot is another request's now; the engine knows. How the one before ended was not told.
      if (!isAgain) counts.misfits += 1
      forget(known)
    }
    const handle = enter(event, nowMs)
    if (handle === 0) {
      counts.misfits += 1
      return
    }
    const request: Mirrored = {
      handle,
      slot,
      classIndex: event.classIndex,
      isLong: scheduler.classes.path[event.classIndex] === LONG,
      arrivalMs: nowMs,
      idLow: event.idLow,
      responded: false,
      isDownstream: false,
      heardMs: latestMs,
    }
    bySlot.set(slot, request)
    byHandle.set(handle, request)
    if (request.isLong) byId.add(request)
    named[0]?.add(request)
    counts.arrived += 1
    if ((event.f & ARRIVAL.running) !== 0) scheduler.admit(handle)
    else if ((event.f & ARRIVAL.alwaysVisible) !== 0) scheduler.pin(handle)
    if ((event.f & ARRIVAL.responded) !== 0) scheduler.progress(handle, 0x7fffffff, 1)
  }

  /** It was said to be never hidden, and now may be: the engine could not have admitted it before. For the core it waits anew. */
  const unpin = (request: Mirrored, event: Readonly<EngineEvent>): void => {
    if (!scheduler.has(request.handle) || !scheduler.isWaiting(request.handle)) {
      counts.misfits += 1
      return
    }
    scheduler.cancel(request.handle)
    byHandle.delete(request.handle)
    request.handle = enter(event, request.arrivalMs)
    byHandle.set(request.handle, request)
  }

  /** The core's handle for an arrival, 0 when it takes none. */
  const enter = (event: Readonly<EngineEvent>, nowMs: number): number => {
    const { inputs, cells } = scheduler
    if (event.e === 0) {
      cells[0] = nowMs
      inputs[INPUT.promptTokens] = event.b & 0x7fffffff
      inputs[INPUT.audioSeconds] = event.c / 1000
      inputs[INPUT.images] = event.d & 0xffff
      inputs[INPUT.videos] = event.d >>> 16
      return scheduler.arriveNow(event.classIndex)
    }
    return scheduler.arrive(
      {
        class: scheduler.classes.names[event.classIndex]!,
        promptTokens: event.b & 0x7fffffff,
        audioSeconds: event.c / 1000,
        images: event.d & 0xffff,
        videos: event.d >>> 16,
        sloMs: event.e,
      },
      latestMs,
    )
  }

  const respond = (request: Mirrored, event: Readonly<EngineEvent>): void => {
    if (request.responded) return
    const nowMs = Math.max(Number(event.timeNs) / 1e6, request.arrivalMs)
    const met = scheduler.firstResponse(request.handle, nowMs)
    request.responded = true
    onFirstResponse?.(request.classIndex, nowMs - request.arrivalMs, met)
  }

  const change = (event: Readonly<EngineEvent>): void => {
    const request = bySlot.get(event.a)
    if (request === undefined || !scheduler.has(request.handle)) {
      counts.misfits += 1
      return
    }
    const { handle } = request
    const goesOn = request.isLong && lastStage() > 0
    switch (event.kind) {
      case KIND.admit:
        scheduler.admit(handle)
        break
      case KIND.preempt:
        scheduler.preempt(handle)
        break
      case KIND.firstResponse:
        scheduler.progress(handle, 0x7fffffff, event.b)
        if (!goesOn) respond(request, event)
        break
      case KIND.prefilled:
        scheduler.progress(handle, 0x7fffffff, event.b)
        break
      case KIND.handedOver:
        // A short-path request, a session of text, keeps its place as it is: nothing comes after it.
        if (request.isLong) scheduler.handedOver(handle)
        break
      case KIND.finish:
        if (goesOn) {
          leaveSlot(request)
          request.isDownstream = true
          request.heardMs = latestMs
          scheduler.enterDownstream(handle)
        } else end(request, true)
        break
      default:
        end(request, false)
    }
  }

  /** A stage after the shared one: only what its requests tell of the whole request matters here. */
  const changeDownstream = (event: Readonly<EngineEvent>): boolean => {
    const { stage, kind } = event
    if (kind === KIND.syncBegin) named[stage] = new Set()
    else if (kind === KIND.syncEnd) endResync(stage)
    if (
      kind === KIND.syncBegin ||
      kind === KIND.syncEnd ||
      kind === KIND.activity ||
      kind === KIND.step
    )
      return true
    const isLast = stage === lastStage()
    const request = byId.find(
      event.idLow,
      kind === KIND.finish && isLast,
      kind === KIND.firstResponse && isLast,
    )
    if (request === undefined) return false
    request.heardMs = latestMs
    request.stage = stage
    if (kind === KIND.arrive) named[stage]?.add(request)
    else if (kind === KIND.firstResponse && isLast) respond(request, event)
    else if ((kind === KIND.finish && isLast) || kind === KIND.abort)
      end(request, kind === KIND.finish)
    return true
  }

  /** What a stage holds was told in full: what it held before and did not name has ended there unheard. */
  const endResync = (stage: number): void => {
    const kept = named[stage]
    named[stage] = undefined
    if (kept === undefined) return
    if (stage === 0) {
      for (const request of bySlot.values()) if (!kept.has(request)) forget(request)
      return
    }
    for (const request of byHandle.values()) {
      if (request.stage !== stage || kept.has(request)) continue
      // Between two stages it is nobody's for a while; from the last one it is gone.
      if (stage === lastStage() && request.isDownstream) forget(request)
    }
  }

  return {
    counts,
    get size() {
      return byHandle.size
    },
    advance,
    slotOf: (handle) => byHandle.get(handle)?.slot ?? 0,
    expire(nowMs, isDownstreamIdle) {
      if (nowMs < expireAt) return
      expireAt = nowMs + EXPIRE_EVERY_MS
      const limit = nowMs - (isDownstreamIdle ? UNHEARD_IDLE_MS : UNHEARD_MS)
      for (const request of byHandle.values())
        if (request.isDownstream && request.heardMs < limit) forget(request)
    },
    apply(event) {
      counts.events += 1
      const nowMs = Number(event.timeNs) / 1e6
      if (nowMs > clockMs() + MAX_AHEAD_MS) {
        counts.misfits += 1
        return true
      }
      advance(nowMs)
      try {
        if (event.stage !== 0) return changeDownstream(event)
        if (event.kind === KIND.step) counts.steps += 1
        else if (event.kind === KIND.arrive) arrive(event)
        else if (event.kind === KIND.syncBegin) named[0] = new Set()
        else if (event.kind === KIND.syncEnd) endResync(0)
        else if (event.kind !== KIND.activity) change(event)
      } catch (error) {
        // An illegal transition: the core refused it and is as it was.
        if (!(error instanceof Error && 'code' in error)) throw error
        counts.misfits += 1
      }
      return true
    },
  }
}
