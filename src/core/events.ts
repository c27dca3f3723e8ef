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
  firstResponse: [handle: number, latencyMs: number, met: boolean]
  /** A request left the scheduler, finished or cancelled. */
  end: [handle: number, finished: boolean]
  /** A listener of another event threw. */
  listenerError: [error: unknown]
}

export type SchedulerEmitter = EventEmitter<SchedulerEvents>

export function createEmitter(): SchedulerEmitter {
  return new EventEmitter<SchedulerEvents>()
}

/** Emits, and keeps the errors of listeners away from the caller. */
export function emitSafely<K extends keyof SchedulerEvents>(
  emitter: SchedulerEmitter,
  name: K,
  ...args: SchedulerEvents[K]
): void {
  try {
    ;(emitter.emit as (name: K, ...args: SchedulerEvents[K]) => boolean)(name, ...args)
  } catch (error) {
    if (name === 'listenerError') return
    emitSafely(emitter, 'listenerError', error)
  }
}
