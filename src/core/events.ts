/**
 * @module
 * Typed events. They are emitted after the decision of a step is final; with no listener they cost a check, and a listener that
 * throws cannot break a step: its error goes to `listenerError`.
 */
import { EventEmitter } from 'eventemitter3'
import type { Decision } from './decision.js'
import type { HorizonError } from './errors.js'

/** Whose event it is: for listeners to which a handle says nothing. */
export interface RequestName {
  readonly class: string
  readonly id: string | undefined
}

/** Event names and what a listener is called with. Handles are those of `arrive`. */
export interface SchedulerEvents {
  /** Every step. The decision is reused: copy what you keep. */
  decision: [decision: Decision]
  /** The cap moved to another row of the ladder. */
  cap: [level: number, capSms: number]
  /** A waiting request came near its deadline. */
  protected: [handle: number, request: RequestName]
  /** A waiting request can no longer meet its deadline. */
  lost: [handle: number, request: RequestName]
  /** A waiting request is refused; it would have been served at `earliestMs` at the earliest. Its handle ends after the listeners. */
  shed: [handle: number, earliestMs: number, request: RequestName]
  firstResponse: [handle: number, latencyMs: number, met: boolean, request: RequestName]
  /** A request left the scheduler, finished, cancelled or shed. */
  end: [handle: number, finished: boolean, request: RequestName]
  /** A listener of another event threw. With no listener for this one, the first such error is a warning of the process. */
  listenerError: [error: unknown]
  /** The actuator threw or answered nonsense: the cap is not in force, and the next step tries again. Warned of like `listenerError`. */
  actuatorError: [error: HorizonError]
}

export type SchedulerEmitter = EventEmitter<SchedulerEvents>

export interface Announcer {
  readonly events: SchedulerEmitter
  /** Whether anyone listens to an event. While nobody ever listened to any, it is one test. @hot */
  hears(name: keyof SchedulerEvents): boolean
  /** Emits, and keeps the errors of listeners away from the caller. */
  announce<K extends keyof SchedulerEvents>(name: K, ...args: SchedulerEvents[K]): void
  /** Tells of an error that no caller can be given: to its listeners, or once to whoever reads the warnings of the process. */
  tell(name: 'listenerError' | 'actuatorError', error: unknown): void
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
  let isWarned = false
  const warn = (error: unknown): void => {
    if (isWarned) return
    isWarned = true
    const { process, console } = globalThis as WarningHost
    const text = `horizonserve: ${error instanceof Error ? error.message : String(error)} (later ones are not printed: listen to listenerError and actuatorError)`
    if (process?.emitWarning !== undefined) process.emitWarning(text)
    else console?.warn(text)
  }
  const announcer: Announcer = {
    events,
    hears: (name) => isHeard && events.listenerCount(name) > 0,
    tell(name, error) {
      if (events.listenerCount(name) > 0) announcer.announce(name, error as HorizonError)
      else warn(error)
    },
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
        if (name === 'listenerError') warn(error)
        else announcer.tell('listenerError', error)
      }
    },
  }
  return announcer
}

/** What core may find of the place it runs in; it knows none. */
interface WarningHost {
  readonly process?: { emitWarning?(text: string): void }
  readonly console?: { warn(text: string): void }
}
