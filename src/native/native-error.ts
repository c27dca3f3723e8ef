/**
 * @module
 * Errors of the native room. This room imports nothing of ours, so it cannot construct the core's error class; it makes
 * an `Error` of the same shape instead, which the core's `isHorizonError` accepts.
 */

/** An error with the name and the code of the library's own error class. */
export interface NativeError extends Error {
  readonly code: `ERR_NATIVE_${string}`
  readonly hint: string
}

/** `summary` says what was expected and what was got; `hint` what to do, as one sentence. */
export function nativeError(
  code: NativeError['code'],
  summary: string,
  hint: string,
  cause?: unknown,
): NativeError {
  const error = new Error(`${summary}. ${hint}`, cause === undefined ? undefined : { cause })
  error.name = 'HorizonError'
  return Object.assign(error, { code, hint })
}
