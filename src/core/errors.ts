/**
 * @module
 * The one error class of the library. Expected outcomes are return values; an error is a mistake in a call,
 * in a file, or in the environment, and says what was expected, what was got and what to do.
 */

/** `ERR_<ROOM>_<WHAT>`, for example `ERR_CORE_STALE_HANDLE`. Stable: scripts may branch on it. */
export type ErrorCode = `ERR_${string}`

/** What an error says beside its code. `field` is a path such as `classes.speech.sloMs`. */
export interface ErrorDetails {
  readonly field?: string
  readonly expected?: string
  readonly got?: unknown
  /** What the reader can do about it, as one sentence. */
  readonly hint?: string
  readonly cause?: unknown
}

/** An error with a stable `code`; the message reads `field: expected …, got …. hint`. */
export class HorizonError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly expected: string | undefined
  readonly got: unknown
  readonly hint: string | undefined

  constructor(code: ErrorCode, summary: string, details: ErrorDetails = {}) {
    super(
      describe(summary, details),
      details.cause === undefined ? undefined : { cause: details.cause },
    )
    this.name = 'HorizonError'
    this.code = code
    this.field = details.field
    this.expected = details.expected
    this.got = details.got
    this.hint = details.hint
  }
}

/**
 * Throws unless `isRight`. For checks where nothing is spent on the texts of an error that is not thrown: outside the hot path, or with
 * constant texts.
 */
export function expectThat(
  isRight: boolean,
  code: ErrorCode,
  summary: string,
  field: string,
  expected: string,
  got: unknown,
): asserts isRight {
  if (!isRight) throw new HorizonError(code, summary, { field, expected, got })
}

/** The least number above 0, as the lower end of a range that leaves 0 out. */
export const ABOVE_0: number = Number.MIN_VALUE

/** Throws unless `got` is a finite number in [least, most]. @hot */
export function expectNumber(
  code: ErrorCode,
  field: string,
  got: number,
  least: number,
  most: number = Number.MAX_VALUE,
): void {
  if (!(typeof got === 'number' && got >= least && got <= most))
    throw outside(code, field, got, 'a number', least, most)
}

/** Throws unless `got` is an integer in [least, most]. */
export function expectInteger(
  code: ErrorCode,
  field: string,
  got: number,
  least: number,
  most: number = Number.MAX_VALUE,
): void {
  if (!(Number.isInteger(got) && got >= least && got <= most))
    throw outside(code, field, got, 'an integer', least, most)
}

function outside(
  code: ErrorCode,
  field: string,
  got: number,
  kind: string,
  least: number,
  most: number,
): HorizonError {
  let expected = kind + (least === ABOVE_0 ? ' above 0' : ` of at least ${least}`)
  if (most < Number.MAX_VALUE) expected += ` and at most ${most}`
  return new HorizonError(code, 'impossible value', { field, expected, got })
}

/** True for an error of this library, also for one thrown by another copy of it. */
export function isHorizonError(error: unknown): error is HorizonError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('ERR_') &&
    error.name === 'HorizonError'
  )
}

function describe(summary: string, details: ErrorDetails): string {
  let text = details.field === undefined ? summary : `${details.field}: ${summary}`
  if (details.expected !== undefined) text += `: expected ${details.expected}`
  if ('got' in details)
    text += `${details.expected === undefined ? ':' : ','} got ${show(details.got)}`
  if (details.hint !== undefined) text += `. ${details.hint}`
  return text
}

function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 120 ? `${value.slice(0, 117)}...` : value)
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? `an array of ${value.length}` : 'an object'
  return typeof value === 'bigint' ? `${value}n` : String(value)
}
