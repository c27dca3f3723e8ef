/**
 * @module
 * What the scheduler refuses in a call: the errors of its API, each naming the field, what was expected and what was got.
 */
import { expectThat, HorizonError } from './errors.js'

export function staleHandle(handle: number): HorizonError {
  return new HorizonError('ERR_CORE_STALE_HANDLE', 'no live request has this handle', {
    field: 'handle',
    got: handle,
    hint: 'The request finished or was cancelled, or the handle belongs to another scheduler',
  })
}

export function wrongWork(className: string, got: number): HorizonError {
  return new HorizonError('ERR_CORE_PROFILER', 'the profiler wrote an impossible time', {
    field: `profile.${className}`,
    expected: 'numbers of ms, at least 0',
    got,
  })
}

export function checkInput(field: string, value: number | undefined, max: number): number {
  if (value === undefined) return 0
  expectThat(
    value >= 0 && value <= max,
    'ERR_CORE_INPUT',
    'impossible input',
    field,
    'a finite number, at least 0',
    value,
  )
  return value
}
