/**
 * @module
 * Typed events. They are emitted after the decision of a step is final; with no listener they cost a check, and a listener that
 * throws cannot break a step: its error goes to `listenerError`.
 */
import { EventEmitter } from 'eventemitter3'
import type { Decision } from './decision.js'

/** Event names and what a listener is called with. Handles are those of `arrive`. */
export interface SchedulerEvents {
  /** Every step. The decision is reused: copy what you keep. */
  decision: [decision: Decision]
  /** The cap moved to another row of the ladder. */
  cap: [level: number, capSms: number]
  /** A waiting request came near its deadline. */
  protected: [handle: number]
  /** A waiting request can no longer meet its deadline. */
  lost: [handle: number]
  /** A waiting request is refused; it would have been served at `earliestMs` at the earliest. Its handle ends after the listeners. */
  shed: [handle: number, earliestMs: number]
  firstResponse: [handle: number, latencyMs: number, met: boolean]
  /** A request left the scheduler, finished, cancelled or shed. */
  end: [handle: number, finished: boolean]
  /** A listener of another event threw. */
  listenerError: [error: unknown]
}

export type SchedulerEmitter = EventEmitter<SchedulerEvents>

export interface Announcer {
  readonly events: SchedulerEmitter
  /** Whether anyone listens to an event. While nobody ever listened to any, it is one test. @hot */
  hears(name: keyof SchedulerEvents): boolean
  /** Emits, and keeps the errors of listeners away from the caller. */
  announce<K extends keyof SchedulerEvents>(name: K, ...args: SchedulerEvents[K]): void
  /** Keeps what is announced until `release`: for requests that a step ends before its decision is final. */
  hold(): void
  release(): void
}

export function createAnnouncer(): Announcer {
  const events = new EventEmitter<SchedulerEvents>()
  let isHeard = false
  let isHeld = false
  const held: Parameters<typeof events.emit>[] = []
  for (const verb of ['on', 'addListener', 'once'] as const) {
    const add = events[verb]
    events[verb] = (...args: unknown[]) => {
      isHeard = true
      return add.apply(events, args as never)
    }
  }
  const announcer: Announcer = {
    events,
    hears: (name) => isHeard && events.listenerCount(name) > 0,
    hold() {
      isHeld = true
    },
    release() {
      isHeld = false
      for (const [name, ...args] of held.splice(0)) announcer.announce(name, ...(args as never))
    },
    announce(name, ...args) {
      if (isHeld) {
        held.push([name, ...args] as never)
        return
      }
      try {
        ;(events.emit as (name: string, ...args: unknown[]) => boolean)(name, ...args)
      } catch (error) {
        if (name !== 'listenerError') announcer.announce('listenerError', error)
      }
    },
  }
  return announcer
}
