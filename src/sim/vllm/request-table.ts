/**
 * @module
 * The requests of a replay, one row each. Times are milliseconds of virtual time; NaN means not yet.
 */
export interface RequestTable {
  readonly count: number
  /** When the request reaches the engine's input queue. */
  readonly readyMs: Float64Array
  readonly promptTokens: Int32Array
  readonly outputTokens: Int32Array
  /** Tokens that hold context, the ones under way included. */
  readonly computed: Int32Array
  /** Tokens whose values are known: the prompt and what came back so far. */
  readonly known: Int32Array
  /** Tokens scheduled that have not come back. */
  readonly pending: Int32Array
  readonly preemptions: Int32Array
  readonly queuedMs: Float64Array
  readonly scheduledMs: Float64Array
  readonly firstTokenMs: Float64Array
  readonly lastTokenMs: Float64Array
}

/** One request as a replay takes it. */
export interface ReplayRequest {
  readonly readyMs: number
  readonly promptTokens: number
  readonly outputTokens: number
}

export function createRequestTable(requests: readonly ReplayRequest[]): RequestTable {
  const count = requests.length
  const unset = (): Float64Array => new Float64Array(count).fill(Number.NaN)
  return {
    count,
    readyMs: Float64Array.from(requests, (r) => r.readyMs),
    promptTokens: Int32Array.from(requests, (r) => r.promptTokens),
    outputTokens: Int32Array.from(requests, (r) => r.outputTokens),
    computed: new Int32Array(count),
    known: Int32Array.from(requests, (r) => r.promptTokens),
    pending: new Int32Array(count),
    preemptions: new Int32Array(count),
    queuedMs: unset(),
    scheduledMs: unset(),
    firstTokenMs: unset(),
    lastTokenMs: unset(),
  }
}
