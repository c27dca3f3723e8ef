/**
 * @module
 * The clock that runs are driven and measured by: monotonic milliseconds. A port, so that a simulated backend can be driven
 * in simulated time.
 */
export interface Clock {
  /** Milliseconds from some fixed instant. */
  now(): number
  /** Resolves at or after `time`. */
  sleepUntil(time: number): Promise<void>
}

/** The machine's own clock. */
export const REAL_CLOCK: Clock = Object.freeze({
  now: () => performance.now(),
  sleepUntil: async (time: number) => {
    const wait = time - performance.now()
    if (wait > 0) await new Promise<void>((resolve) => setTimeout(resolve, wait))
  },
})
