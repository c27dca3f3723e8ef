/**
 * @module
 * CLOCK_MONOTONIC, which both sides of a segment share. Node's `hrtime` reads it on Linux; `performance.now` has an origin of its own.
 */

/** Nanoseconds of CLOCK_MONOTONIC. */
export function monotonicNs(): bigint {
  return process.hrtime.bigint()
}
