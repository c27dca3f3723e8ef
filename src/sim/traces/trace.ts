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
  /** What a report must say about these data: licence, artefacts mended, requests left out. */
  readonly notes: readonly string[]
  /** What looks wrong about these data although it could be read, one sentence each. */
  readonly warnings: readonly string[]
}

/** A unit in which a file may state its times. */
export type TimeUnit = 's' | 'ms'

/** What reads the lines of one file. */
export interface LineParser {
  /** The first line is not a request. */
  readonly hasHeader: boolean
  /** The row of a line, in words what is wrong with the line, or undefined where the line is rightly no request. */
  readonly parse: (line: string) => TraceRow | string | undefined
  /** What was seen on the way: asked once, at the end. */
  readonly notes?: () => readonly string[]
  /** What is doubtful about the times, given those read, in ms since the first request and not yet mended. */
  readonly doubts?: (arrivalMs: Float64Array) => readonly string[]
  /** Mends what the format is known to distort, in place, with times already counted from the first request. */
  readonly mend?: (arrivalMs: Float64Array, seed: number) => void
}

/** Reads the lines of one format. `start` looks at the first line and returns what parses the others. */
export interface TraceFormat {
  readonly name: string
  readonly notes: readonly string[]
  /** Whether the unit of its times may be chosen; where it may not, the file states it. */
  readonly takesUnit: boolean
  /** Whether a file whose first line is `firstLine` is of this format. */
  matches(firstLine: string): boolean
  start(firstLine: string, unit: TimeUnit | undefined): LineParser
}

/** More than any model's context; a larger number is a broken line, not a long prompt. */
const MAX_TRACE_TOKENS = 10_000_000

/** Collects rows into columns; checks what holds for every format. */
export interface TraceBuilder {
  readonly size: number
  /** Adds a row, or returns in words why it cannot be one. */
  add(row: TraceRow): string | undefined
  build(): Omit<Trace, 'format' | 'skipped' | 'notes' | 'warnings'> & { readonly moved: number }
}

/** `sorts`: rows may come in any order, and are put in order of their times (equal ones as they came). */
export function createTraceBuilder(sorts = false): TraceBuilder {
  let size = 0
  let room = 1024
  let lastMs = Number.NEGATIVE_INFINITY
  let moved = 0
  let time = new Float64Array(room)
  let audio = new Float64Array(room)
  let prompt = new Int32Array(room)
  let output = new Int32Array(room)
  let images = new Int32Array(room)
  let videos = new Int32Array(room)
  const names: (string | undefined)[] = []
  let named = false

  function grow(): void {
    room *= 2
    const doubles = (from: Float64Array) => {
      const to = new Float64Array(room)
      to.set(from)
      return to
    }
    const integers = (from: Int32Array) => {
      const to = new Int32Array(room)
      to.set(from)
      return to
    }
    time = doubles(time)
    audio = doubles(audio)
    prompt = integers(prompt)
    output = integers(output)
    images = integers(images)
    videos = integers(videos)
  }

  function add(row: TraceRow): string | undefined {
    const { timeMs } = row
    if (!Number.isFinite(timeMs)) return 'the time is not a number'
    if (timeMs < lastMs && !sorts)
      return `the clock goes back by ${(lastMs - timeMs).toFixed(3)} ms`
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
    if (size === room) grow()
    time[size] = timeMs
    audio[size] = seconds
    prompt[size] = row.promptTokens
    output[size] = row.outputTokens
    images[size] = row.images ?? 0
    videos[size] = row.videos ?? 0
    if (row.className !== undefined) {
      named = true
      names[size] = row.className
    }
    size += 1
    if (timeMs < lastMs) moved += 1
    else lastMs = timeMs
    return undefined
  }

  /** Places of the rows in order of time, or undefined where they are in order. */
  function order(): Uint32Array | undefined {
    if (moved === 0) return undefined
    return Uint32Array.from({ length: size }, (_, i) => i).sort(
      (a, b) => (time[a] as number) - (time[b] as number) || a - b,
    )
  }

  return {
    get size() {
      return size
    },
    add,
    build() {
      const places = order()
      const start = size === 0 ? 0 : (time[places?.[0] ?? 0] as number)
      const doubles = (of: Float64Array, less = 0) =>
        Float64Array.from({ length: size }, (_, i) => (of[places?.[i] ?? i] as number) - less)
      const integers = (of: Int32Array) =>
        Int32Array.from({ length: size }, (_, i) => of[places?.[i] ?? i] as number)
      return {
        size,
        arrivalMs: doubles(time, start),
        promptTokens: integers(prompt),
        outputTokens: integers(output),
        audioSeconds: doubles(audio),
        images: integers(images),
        videos: integers(videos),
        classNames: named
          ? Array.from({ length: size }, (_, i) => names[places?.[i] ?? i])
          : undefined,
        moved,
      }
    },
  }
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
