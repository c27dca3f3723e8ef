/**
 * @module
 * Errors of this room. Whatever another process wrote is untrusted: a reader throws `ERR_ADAPTERS_PROTOCOL` and nothing else.
 */
import { type ErrorDetails, HorizonError } from '../core/errors.js'

/** What was read from a segment does not follow the protocol. */
export function protocolError(summary: string, details: ErrorDetails = {}): HorizonError {
  return new HorizonError('ERR_ADAPTERS_PROTOCOL', summary, details)
}

/** A segment that cannot be used: missing, not ours, of another version, or held by another controller. */
export function segmentError(
  what: 'SEGMENT' | 'VERSION' | 'OWNER' | 'BUSY' | 'SEGMENT_UNAVAILABLE',
  summary: string,
  details: ErrorDetails = {},
): HorizonError {
  return new HorizonError(`ERR_ADAPTERS_${what}`, summary, details)
}
