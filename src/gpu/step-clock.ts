/**
 * @module
 * The time of a step, in a cell: a double that is returned from a call which is not inlined costs 16 bytes of heap, a cell costs
 * none.
 */
import { openLibrary } from '../native/library.js'
import { allocateNative } from '../native/native-buffer.js'

/** A clock in ms. */
export interface StepClock {
  /** One cell: the time as of the last `read`. */
  readonly ms: Float64Array
  /** Renews the cell. */
  read(): void
}

/** The scheduler's own time, which it has already read for this step: `cell` is a view of its first time cell. */
export function sharedStepClock(cell: Float64Array): StepClock {
  return { ms: cell, read() {} }
}

const CLOCK_MONOTONIC = 1

/** CLOCK_MONOTONIC, the clock that both sides of the IPC share, straight from libc. */
export function createMonotonicClock(): StepClock {
  const gettime = openLibrary(
    ['libc.so.6', 'libc.so', 'libSystem.B.dylib'],
    'A libc with clock_gettime is needed',
  ).bind('int clock_gettime(int clock, void *time)')
  const { pointer, u32 } = allocateNative(16)
  const ms = new Float64Array(1)
  const clock: StepClock = {
    ms,
    read() {
      gettime(CLOCK_MONOTONIC, pointer)
      // Seconds since boot fit 32 bits; nanoseconds are a long at byte 8.
      ms[0] = (u32[0] as number) * 1000 + (u32[2] as number) / 1e6
    },
  }
  clock.read()
  return clock
}
