/**
 * @module
 * Waiting on a word of shared memory, and waking who waits. `Atomics.wait` refuses memory that is not a SharedArrayBuffer, so the
 * kernel is asked directly. Never on Node's main thread, and never without a bound: a worker in an endless wait cannot be ended.
 */
import type { Pointer } from './koffi.js'
import { loadLibc } from './libc.js'
import { nativeError } from './native-error.js'

const NUMBER = process.arch === 'arm64' ? 98 : 202
/** Without the private flag: the word is shared between processes. */
const FUTEX_WAIT = 0
const FUTEX_WAKE = 1
const EINTR = 4
const EAGAIN = 11
const ETIMEDOUT = 110

/** Longest single wait, ms. Ask again for longer ones, and look at a stop word between. */
export const MAX_WAIT_MS = 50

/** Why a wait ended: somebody woke it (or a signal did), the word had another value already, or time was up. */
export type WaitResult = 'woken' | 'changed' | 'timeout'

/** Waits and wakes on one word. */
export interface Futex {
  /** Sleeps while the word is `expected`, at most `timeoutMs` (and never beyond `MAX_WAIT_MS`). */
  wait(expected: number, timeoutMs: number): WaitResult
  /** Wakes up to `count` waiters; returns how many. */
  wake(count: number): number
}

/** The futex at an address of a shared mapping; the address must be 4-byte aligned. */
export function futexAt(address: Pointer): Futex {
  const libc = loadLibc()
  const timeout = new BigInt64Array(2)
  return {
    wait(expected, timeoutMs) {
      const bounded = Math.min(Math.max(timeoutMs, 0), MAX_WAIT_MS)
      timeout[1] = BigInt(Math.floor(bounded * 1e6))
      if (libc.futexWait(NUMBER, address, FUTEX_WAIT, expected | 0, timeout) === 0) return 'woken'
      const errno = libc.errno()
      if (errno === EAGAIN) return 'changed'
      if (errno === ETIMEDOUT) return 'timeout'
      if (errno === EINTR) return 'woken'
      throw nativeError(
        'ERR_NATIVE_FUTEX',
        `waiting failed with errno ${errno}`,
        'The address is not an aligned word of a live mapping',
      )
    },
    wake(count) {
      return libc.futexWake(NUMBER, address, FUTEX_WAKE, count)
    },
  }
}
