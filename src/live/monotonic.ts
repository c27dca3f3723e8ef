/**
 * @module
 * The clock of this room: CLOCK_MONOTONIC in ms, the same in every thread and process of a machine.
 */

/** Milliseconds, with a fraction. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
