/**
 * @module
 * What every trace reader yields: columns of arrivals and lengths. Times count from the first request; the file's own clock
 * (a calendar date, an epoch) is the reader's business. Nothing is dropped silently: `skipped` counts the lines left out.
 */

/** One request as a line of a trace states it. `timeMs` is on the file's own clock. */
export interface TraceRow {
  readonly timeMs: number
  readonly promptTokens: number
  readonly outputTokens: number
  /** Class named by the trace itself; only our plain formats have it. */
  readonly className?: string | undefined
  readonly audioSeconds?: number | undefined
  readonly images?: number | undefined
  readonly videos?: number | undefined
}

/** A trace in memory, in order of arrival. All columns have `size` entries. */
export interface Trace {
  readonly format: string
  readonly size: number
  /** Milliseconds since the first request, never falling. */
  readonly arrivalMs: Float64Array
  readonly promptTokens: Int32Array
  readonly outputTokens: Int32Array
  readonly audioSeconds: Float64Array
  readonly images: Int32Array
  readonly videos: Int32Array
  /** One name per request where the trace names classes; undefined where none of its lines does. */
  readonly classNames: readonly (string | undefined)[] | undefined
  /** Lines left out under `skipBad`. */
  readonly skipped: number
  /** What a report must say about these data: licence, artefacts mended. */
  readonly notes: readonly string[]
}

/** Reads the lines of one format. `start` looks at the first line and returns what parses the others. */
export interface TraceFormat {
  readonly name: string
  readonly notes: readonly string[]
  /** Whether a file whose first line is `firstLine` is of this format. */
  matches(firstLine: string): boolean
  /** `hasHeader`: the first line is not a request. `parse` returns the row, or in words what is wrong with the line. */
  start(firstLine: string): {
    readonly hasHeader: boolean
    readonly parse: (line: string) => TraceRow | string
  }
  /** Mends what the format is known to distort, in place, with times already counted from the first request. */
  readonly mend?: (arrivalMs: Float64Array, seed: number) => void
}

/** More than any model's context; a larger number is a broken line, not a long prompt. */
const MAX_TRACE_TOKENS = 10_000_000

/** Collects rows into columns; checks what holds for every format. */
export interface TraceBuilder {
  /** Adds a row, or returns in words why it cannot be one. */
  add(row: TraceRow): string | undefined
  build(format: string, skipped: number, notes: readonly string[]): Trace
}

export function createTraceBuilder(): TraceBuilder {
  const rows: TraceRow[] = []
  let named = false

  function add(row: TraceRow): string | undefined {
    const last = rows[rows.length - 1]
    if (!Number.isFinite(row.timeMs)) return 'the time is not a number'
    if (last !== undefined && row.timeMs < last.timeMs) {
      return `the clock goes back by ${(last.timeMs - row.timeMs).toFixed(3)} ms`
    }
    const bad =
      whole('prompt tokens', row.promptTokens, 1, MAX_TRACE_TOKENS) ??
      whole('output tokens', row.outputTokens, 1, MAX_TRACE_TOKENS) ??
      whole('images', row.images ?? 0, 0, 1_000) ??
      whole('videos', row.videos ?? 0, 0, 1_000)
    if (bad !== undefined) return bad
    const seconds = row.audioSeconds ?? 0
    if (!(seconds >= 0 && seconds <= 86_400)) {
      return `audio seconds must be 0 to 86400, got ${seconds}`
    }
    if (row.className !== undefined) named = true
    rows.push(row)
    return undefined
  }

  function build(format: string, skipped: number, notes: readonly string[]): Trace {
    const start = rows[0]?.timeMs ?? 0
    return {
      format,
      size: rows.length,
      arrivalMs: Float64Array.from(rows, (row) => row.timeMs - start),
      promptTokens: Int32Array.from(rows, (row) => row.promptTokens),
      outputTokens: Int32Array.from(rows, (row) => row.outputTokens),
      audioSeconds: Float64Array.from(rows, (row) => row.audioSeconds ?? 0),
      images: Int32Array.from(rows, (row) => row.images ?? 0),
      videos: Int32Array.from(rows, (row) => row.videos ?? 0),
      classNames: named ? rows.map((row) => row.className) : undefined,
      skipped,
      notes,
    }
  }

  return { add, build }
}

function whole(what: string, value: number, low: number, high: number): string | undefined {
  if (Number.isInteger(value) && value >= low && value <= high) return undefined
  return `${what} must be a whole number from ${low} to ${high}, got ${value}`
}

/** The first `count` requests of a trace, or all of it where it has fewer. */
export function firstRequests(trace: Trace, count: number): Trace {
  return {
    ...trace,
    size: Math.min(count, trace.size),
    arrivalMs: trace.arrivalMs.slice(0, count),
    promptTokens: trace.promptTokens.slice(0, count),
    outputTokens: trace.outputTokens.slice(0, count),
    audioSeconds: trace.audioSeconds.slice(0, count),
    images: trace.images.slice(0, count),
    videos: trace.videos.slice(0, count),
    classNames: trace.classNames?.slice(0, count),
  }
}

/** A decimal number as traces write it, or NaN: no hexadecimal, no blanks, nothing behind it. */
export function decimal(text: string): number {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN
}
