/**
 * @module
 * The engine's requests as the core sees them: applies the engine's events to a core scheduler. Events may be lost, doubled or
 * late, so every one is checked against what the mirror knows; one that does not fit is counted and skipped.
 */
import type { EngineEvent } from '../adapters/events.js'
import { ARRIVAL } from '../adapters/events.js'
import { KIND } from '../adapters/layout.js'
import { INPUT, LONG, type Scheduler } from '../core/index.js'

/** What the events said, since the start. */
export interface MirrorCounts {
  events: number
  /** Events that did not fit what the mirror knew. */
  misfits: number
  arrived: number
  finished: number
  aborted: number
  steps: number
}

/** A request that got its first response. */
export type OnFirstResponse = (classIndex: number, latencyMs: number, met: boolean) => void

/** The mirror of one engine's shared stage. */
export interface EngineMirror {
  readonly counts: MirrorCounts
  /** Applies one event. */
  apply(event: Readonly<EngineEvent>): void
  /** Engine slot of a core handle, 0 when it has none. */
  slotOf(handle: number): number
  /** Requests of the core that the engine did not name in its last resync are gone. */
  readonly size: number
  /** A time of the engine as the core can take it: never before one it has seen, ms. */
  advance(nowMs: number): number
}

/** An event from further ahead than this is garbled: it would put the core's clock where nothing ever meets a deadline. */
const MAX_AHEAD_MS = 60_000

/**
 * Events of stage 0 drive the core. Where `lastStage` is a later one, a long-path request has its first response and its end in the last
 * stage; there it is found by the hash of its external id, for every stage gives it a slot of its own.
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
    steps: 0,
  }
  /** Core handle by engine slot; 0 for none. */
  let handles = new Int32Array(1024)
  const slots = new Map<number, number>()
  const arrivalMs = new Map<number, number>()
  const classOf = new Map<number, number>()
  const responded = new Set<number>()
  /** By the low half of the hash: long-path requests, wherever they are. */
  const byId = new Map<bigint, number>()
  /** Slots named in a resync under way. */
  let named: Set<number> | undefined

  let latestMs = 0
  const advance = (nowMs: number): number => {
    if (nowMs > latestMs) latestMs = nowMs
    return latestMs
  }

  const handleAt = (slot: number): number => {
    const handle = slot < handles.length ? handles[slot]! : 0
    return handle !== 0 && scheduler.has(handle) ? handle : 0
  }
  const forget = (slot: number, handle: number): void => {
    handles[slot] = 0
    slots.delete(handle)
  }
  const forgetAll = (handle: number): void => {
    arrivalMs.delete(handle)
    classOf.delete(handle)
    responded.delete(handle)
  }
  const isLong = (handle: number): boolean => scheduler.classes.path[classOf.get(handle)!] === LONG
  const end = (handle: number, finished: boolean, idLow: bigint): void => {
    if (finished && responded.has(handle)) scheduler.finish(handle)
    else scheduler.cancel(handle)
    if (finished) counts.finished += 1
    else counts.aborted += 1
    byId.delete(idLow)
    forgetAll(handle)
  }

  const arrive = (event: Readonly<EngineEvent>): void => {
    const slot = event.a
    if (slot === 0 || slot > 1 << 22 || event.classIndex >= scheduler.classes.count) {
      counts.misfits += 1
      return
    }
    named?.add(slot)
    if (handleAt(slot) !== 0) {
      if ((event.f & ARRIVAL.resync) === 0) counts.misfits += 1
      return
    }
    const nowMs = Math.max(0, Number(event.timeNs) / 1e6)
    const { inputs, cells } = scheduler
    let handle: number
    if (event.e === 0) {
      cells[0] = nowMs
      inputs[INPUT.promptTokens] = event.b & 0x7fffffff
      inputs[INPUT.audioSeconds] = event.c / 1000
      inputs[INPUT.images] = event.d & 0xffff
      inputs[INPUT.videos] = event.d >>> 16
      handle = scheduler.arriveNow(event.classIndex)
    } else {
      handle = scheduler.arrive(
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
    if (handle === 0) {
      counts.misfits += 1
      return
    }
    if (slot >= handles.length) {
      const more = new Int32Array(Math.max(handles.length * 2, slot + 1))
      more.set(handles)
      handles = more
    }
    handles[slot] = handle
    slots.set(handle, slot)
    arrivalMs.set(handle, nowMs)
    classOf.set(handle, event.classIndex)
    if (isLong(handle)) byId.set(event.idLow, handle)
    counts.arrived += 1
    if ((event.f & ARRIVAL.running) !== 0) scheduler.admit(handle)
    else if ((event.f & ARRIVAL.alwaysVisible) !== 0) scheduler.pin(handle)
    if ((event.f & ARRIVAL.responded) !== 0) scheduler.progress(handle, 0x7fffffff, 1)
  }

  const respond = (handle: number, event: Readonly<EngineEvent>): void => {
    if (responded.has(handle)) return
    const arrived = arrivalMs.get(handle)!
    const nowMs = Math.max(Number(event.timeNs) / 1e6, arrived)
    const met = scheduler.firstResponse(handle, nowMs)
    responded.add(handle)
    onFirstResponse?.(classOf.get(handle)!, nowMs - arrived, met)
  }

  const change = (event: Readonly<EngineEvent>): void => {
    const handle = handleAt(event.a)
    if (handle === 0) {
      counts.misfits += 1
      return
    }
    const goesOn = isLong(handle) && lastStage() > 0
    switch (event.kind) {
      case KIND.admit:
        scheduler.admit(handle)
        break
      case KIND.preempt:
        scheduler.preempt(handle)
        break
      case KIND.firstResponse:
        scheduler.progress(handle, 0x7fffffff, event.b)
        if (!goesOn) respond(handle, event)
        break
      case KIND.prefilled:
        scheduler.progress(handle, 0x7fffffff, event.b)
        break
      case KIND.finish:
        forget(event.a, handle)
        if (goesOn) scheduler.enterDownstream(handle)
        else end(handle, true, event.idLow)
        break
      default:
        forget(event.a, handle)
        end(handle, false, event.idLow)
    }
  }

  /** A stage after the shared one: only what its requests tell of the whole request matters here. */
  const changeDownstream = (event: Readonly<EngineEvent>): void => {
    const handle = byId.get(event.idLow)
    if (handle === undefined) return
    const isLast = event.stage === lastStage()
    if (event.kind === KIND.firstResponse && isLast) respond(handle, event)
    else if ((event.kind === KIND.finish && isLast) || event.kind === KIND.abort) {
      const slot = slots.get(handle)
      if (slot !== undefined) forget(slot, handle)
      end(handle, event.kind === KIND.finish, event.idLow)
    }
  }

  const endResync = (): void => {
    if (named === undefined) return
    for (const [handle, slot] of slots) {
      if (named.has(slot)) continue
      if (scheduler.has(handle)) scheduler.cancel(handle)
      forget(slot, handle)
      forgetAll(handle)
    }
    named = undefined
  }

  return {
    counts,
    get size() {
      return slots.size
    },
    advance,
    slotOf: (handle) => slots.get(handle) ?? 0,
    apply(event) {
      counts.events += 1
      const nowMs = Number(event.timeNs) / 1e6
      if (nowMs > clockMs() + MAX_AHEAD_MS) {
        counts.misfits += 1
        return
      }
      advance(nowMs)
      try {
        if (event.stage !== 0) changeDownstream(event)
        else if (event.kind === KIND.step) counts.steps += 1
        else if (event.kind === KIND.arrive) arrive(event)
        else if (event.kind === KIND.syncBegin) named = new Set()
        else if (event.kind === KIND.syncEnd) endResync()
        else if (event.kind !== KIND.activity) change(event)
      } catch (error) {
        // An illegal transition: the core refused it and is as it was.
        if (!(error instanceof Error && 'code' in error)) throw error
        counts.misfits += 1
      }
    },
  }
}
