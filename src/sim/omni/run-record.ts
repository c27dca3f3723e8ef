/**
 * @module
 * What happened to each request of a run, as columns over the workload. Times are ms of virtual time, NaN for what did not happen.
 */

/** A request ends in exactly one of these. */
export const OUTCOME = Object.freeze({ unfinished: 0, completed: 1, refused: 2 })

export interface RunRecord {
  readonly size: number
  /** See `OUTCOME`. */
  readonly outcome: Uint8Array
  readonly admittedMs: Float64Array
  readonly firstTokenMs: Float64Array
  /** End of the shared stage. */
  readonly decodedMs: Float64Array
  readonly downstreamStartMs: Float64Array
  readonly firstResponseMs: Float64Array
  readonly finishedMs: Float64Array
}

export function createRunRecord(size: number): RunRecord {
  const column = (): Float64Array => new Float64Array(size).fill(Number.NaN)
  return {
    size,
    outcome: new Uint8Array(size),
    admittedMs: column(),
    firstTokenMs: column(),
    decodedMs: column(),
    downstreamStartMs: column(),
    firstResponseMs: column(),
    finishedMs: column(),
  }
}
