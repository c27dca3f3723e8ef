/**
 * @module
 * Reading one stage's ring of events. The engine drops the newest when the ring is full, so a reader that lags misses the end of
 * the story, never its middle. Whatever a record holds, a poll ends: it takes at most as many records as the ring has slots.
 */
import { isHorizonError } from '../core/errors.js'
import { decodeEvent, type EngineEvent } from './events.js'
import {
  CONTROLLER,
  CONTROLLER_OFFSET,
  EVENT_BYTES,
  offsetOf,
  RINGS_OFFSET,
  STAGE_BYTES,
  STAGE_OFFSET,
} from './layout.js'

/** What a poll met. */
export interface RingCounts {
  read: number
  /** Records whose checksum, kind or sequence was wrong; they are skipped. */
  corrupt: number
  /** Polls at which the engine's cursor was impossible; the reader then starts anew from it. */
  jumps: number
}

/** The reading end of a ring. */
export interface RingReader {
  readonly counts: RingCounts
  /** Calls back for every new event, in order, at most `limit`; returns how many were taken from the ring. */
  poll(onEvent: (event: EngineEvent) => void, limit?: number): number
}

/** How many polls a record that is announced but not yet readable is waited for: stores may become visible out of order. */
const PATIENCE = 3

/**
 * Reads the ring of `stage` in a segment's bytes. `fresh` starts at the newest event, as a controller does that attaches; a reader
 * that goes on starts where the controller's line says the last one stopped.
 */
export function createRingReader(
  buffer: ArrayBuffer,
  stage: number,
  ringSlots: number,
  event: EngineEvent,
  fresh: boolean,
): RingReader {
  const u32 = new Uint32Array(buffer)
  const shared = new Uint8Array(buffer)
  const copy = new Uint8Array(EVENT_BYTES)
  const copyView = new DataView(copy.buffer)
  const writtenAt = (STAGE_OFFSET + stage * STAGE_BYTES) / 4 + 3
  const cursorAt = (CONTROLLER_OFFSET + offsetOf(CONTROLLER, 'readCursor0')) / 4 + stage
  const base = RINGS_OFFSET + stage * ringSlots * EVENT_BYTES
  const counts: RingCounts = { read: 0, corrupt: 0, jumps: 0 }
  let cursor = Atomics.load(u32, fresh ? writtenAt : cursorAt)
  Atomics.store(u32, cursorAt, cursor)
  let waits = 0

  const take = (): 'event' | 'torn' => {
    const at = base + (cursor & (ringSlots - 1)) * EVENT_BYTES
    copy.set(shared.subarray(at, at + EVENT_BYTES))
    try {
      decodeEvent(copyView, 0, event)
    } catch (error) {
      if (!isHorizonError(error)) throw error
      return 'torn'
    }
    return event.seq === cursor && event.stage === stage ? 'event' : 'torn'
  }

  return {
    counts,
    poll(onEvent, limit = ringSlots) {
      // SYNC POINT: the engine stores a record, then the count that announces it.
      const written = Atomics.load(u32, writtenAt)
      if (written === cursor) {
        // Overwritten by somebody, it could look like a full ring, and then nothing new would ever come to set it right.
        if (Atomics.load(u32, cursorAt) !== cursor) Atomics.store(u32, cursorAt, cursor)
        return 0
      }
      if ((written - cursor) >>> 0 > ringSlots) {
        counts.jumps += 1
        cursor = written
      }
      let taken = 0
      while (cursor !== written && taken < limit) {
        if (take() === 'torn') {
          if (++waits <= PATIENCE) break
          counts.corrupt += 1
        } else {
          counts.read += 1
          onEvent(event)
        }
        waits = 0
        cursor = (cursor + 1) >>> 0
        taken += 1
      }
      // SYNC POINT: slots are given back once they are copied.
      Atomics.store(u32, cursorAt, cursor)
      return taken
    },
  }
}
