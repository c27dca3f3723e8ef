/**
 * @module
 * What the scheduler refuses in a call: the errors of its API, each naming the field, what was expected and what was got.
 */
import { type ErrorCode, expectNumber, expectThat, HorizonError } from './errors.js'
import type { ClassTable } from './request-class.js'

export function staleHandle(handle: number): HorizonError {
  return new HorizonError('ERR_CORE_STALE_HANDLE', 'no live request has this handle', {
    field: 'handle',
    got: handle,
    hint: 'The request finished or was cancelled, or the handle belongs to another scheduler',
  })
}

/** An input of a request, 0 when it is left out. */
export function checkInput(field: string, value: number | undefined, most?: number): number {
  if (value === undefined) return 0
  expectNumber('ERR_CORE_INPUT', field, value, 0, most)
  return value
}

/** An argument that is a record of fields. */
export function checkRecord(field: string, value: unknown): void {
  expectThat(
    typeof value === 'object' && value !== null,
    'ERR_CORE_INPUT',
    'impossible value',
    field,
    'an object',
    value,
  )
}

/** The index of a class. */
export function checkClass(classes: ClassTable, name: string): number {
  const c = typeof name === 'string' ? classes.indexOf(name) : -1
  if (c === -1) {
    throw new HorizonError('ERR_CORE_CLASS', 'unknown class', {
      field: 'class',
      expected: `one of ${classes.names.join(', ')}`,
      got: name,
    })
  }
  return c
}

/** `latest[0]`: the latest time seen. */
export function checkTime(nowMs: number, latest: Float64Array): void {
  expectNumber('ERR_CORE_TIME', 'nowMs', nowMs, 0)
  if (nowMs < latest[0]!) {
    throw new HorizonError('ERR_CORE_CLOCK_BACK', 'the clock went back', {
      field: 'nowMs',
      expected: `at least ${latest[0]}`,
      got: nowMs,
      hint: 'Use one monotonic clock for arrivals and steps',
    })
  }
}

/** What a part of the user's own threw, named; nothing of the call took place. */
export function partFailed(code: ErrorCode, field: string, cause: unknown): HorizonError {
  return new HorizonError(code, 'this part failed', {
    field,
    got: cause instanceof Error ? cause.message : cause,
    cause,
  })
}
