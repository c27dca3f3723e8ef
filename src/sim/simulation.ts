/**
 * @module
 * A discrete-event run: a virtual clock that only events move, and the loop that pops them. A model declares its kinds of
 * event, each with a rank and a handler, then schedules. Nothing here knows what is simulated.
 */
import { HorizonError } from '../core/errors.js'
import { createEventQueue, type EventId, MAX_RANK } from './event-queue.js'

/** A kind of event, as `kind` returned it. */
export type EventKind = number

/** What an event does; `a` and `b` are the integers it was scheduled with. */
export type EventHandler = (a: number, b: number) => void

/** Why `run` returned. */
export type RunEnd = 'drained' | 'until' | 'stopped'

export interface Simulation {
  /** Virtual time in milliseconds; it never goes back. */
  readonly nowMs: number
  /** Events handled so far: pops of the queue, nothing else. */
  readonly events: number
  /** Events waiting. */
  readonly waiting: number
  /** Time of the next event; `Infinity` when none waits. */
  readonly nextMs: number
  /** Declares a kind. Among events of one instant, smaller ranks run first; equal ranks in the order scheduled. */
  kind(rank: number, handler: EventHandler): EventKind
  /** Schedules at an absolute time, not before now. */
  at(timeMs: number, kind: EventKind, a?: number, b?: number): EventId
  /** Schedules after a delay of at least 0. */
  after(delayMs: number, kind: EventKind, a?: number, b?: number): EventId
  /** True if the event was still waiting. */
  cancel(id: EventId): boolean
  /** Handles events until none is left, or the next lies after `untilMs` (the clock then stands at `untilMs`), or `stop()`. */
  run(untilMs?: number): RunEnd
  /** Makes `run` return after the event that is being handled. */
  stop(): void
}

export function createSimulation(options: { readonly capacity?: number } = {}): Simulation {
  const queue = createEventQueue(options.capacity)
  const handlers: EventHandler[] = []
  const ranks: number[] = []
  // The clock is a cell of a typed array, so that reading or moving it never boxes a number.
  const clock = new Float64Array(1)
  let stopped = false

  function schedule(timeMs: number, kind: EventKind, a: number, b: number): EventId {
    const rank = ranks[kind]
    if (rank === undefined) {
      throw new HorizonError('ERR_SIM_KIND', 'unknown kind of event', {
        field: 'kind',
        expected: 'a value that kind() of this simulation returned',
        got: kind,
      })
    }
    if (timeMs < (clock[0] as number)) {
      throw new HorizonError('ERR_SIM_PAST', 'an event cannot lie in the past', {
        field: 'timeMs',
        expected: `at least ${clock[0]}`,
        got: timeMs,
      })
    }
    return queue.push(timeMs, rank, kind, a, b)
  }

  return {
    get nowMs() {
      return clock[0] as number
    },
    get events() {
      return queue.popped
    },
    get waiting() {
      return queue.size
    },
    get nextMs() {
      return queue.peekMs()
    },
    kind(rank, handler) {
      if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
        throw new HorizonError('ERR_SIM_KIND', 'cannot rank this kind of event', {
          field: 'rank',
          expected: `an integer from 0 to ${MAX_RANK}`,
          got: rank,
        })
      }
      ranks.push(rank)
      return handlers.push(handler) - 1
    },
    at(timeMs, kind, a = 0, b = 0) {
      return schedule(timeMs, kind, a, b)
    },
    after(delayMs, kind, a = 0, b = 0) {
      return schedule((clock[0] as number) + delayMs, kind, a, b)
    },
    cancel: queue.cancel,
    run(untilMs = Infinity) {
      const { event } = queue
      stopped = false
      while (!stopped) {
        if (queue.peekMs() > untilMs) {
          if (queue.size === 0) return 'drained'
          clock[0] = Math.max(untilMs, clock[0] as number)
          return 'until'
        }
        if (!queue.pop()) return 'drained'
        clock[0] = event.timeMs
        const handler = handlers[event.kind] as EventHandler
        handler(event.a, event.b)
      }
      return 'stopped'
    },
    stop() {
      stopped = true
    },
  }
}
