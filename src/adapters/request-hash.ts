/**
 * @module
 * The name of a request across stages: the first 128 bits of the SHA-256 of its external id, as two halves.
 */
import { createHash } from 'node:crypto'

/** High and low 64 bits. */
export function requestHash(externalId: string): { readonly high: bigint; readonly low: bigint } {
  const digest = createHash('sha256').update(externalId, 'utf8').digest()
  return { high: digest.readBigUInt64BE(0), low: digest.readBigUInt64BE(8) }
}
