/**
 * @module
 * What a bench file is: one question, answered with numbers. Files are named in `registry.ts`.
 */

export interface BenchContext {
  /** Shorter runs with wider spread, for trying a bench out; never for a figure that is quoted. */
  readonly quick: boolean
  /** Progress to stderr; stdout carries the result alone. */
  readonly log: (text: string) => void
}

/** Latency of one operation, in nanoseconds, over single timed samples. */
export interface Spread {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface Bench {
  readonly name: string
  readonly question: string
  /** The rows this file adds to the one JSON object; keys carry their unit (`decideNs`). */
  run(context: BenchContext): Promise<Record<string, unknown>>
}
