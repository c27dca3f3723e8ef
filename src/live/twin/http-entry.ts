/**
 * @module
 * The twin's front door: limits on bodies and connections, the key, and JSON in.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { WireError } from './wire-request.js'

export interface Limits {
  /** Largest body, bytes. */
  readonly maxBodyBytes: number
  readonly maxConnections: number
  /** Bytes a slow client may leave unread before it is dropped. */
  readonly maxUnreadBytes: number
}

export const DEFAULT_LIMITS: Limits = Object.freeze({
  maxBodyBytes: 64 * 2 ** 20,
  maxConnections: 4096,
  maxUnreadBytes: 64 * 2 ** 20,
})

/** Reads a JSON body. Throws a `WireError`: 413 beyond the limit, 400 for what is no JSON. */
export async function readJsonBody(request: IncomingMessage, limits: Limits): Promise<unknown> {
  const tooLarge = (): WireError =>
    new WireError(413, `the body is larger than ${limits.maxBodyBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > limits.maxBodyBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > limits.maxBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  try {
    return JSON.parse(
      (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString('utf8'),
    )
  } catch {
    throw new WireError(400, 'the body is not valid JSON')
  }
}

/** Whether the request may pass: `Authorization: Bearer KEY`, compared in constant time. */
export function isAuthorized(request: IncomingMessage, key: string | undefined): boolean {
  if (key === undefined) return true
  const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  return given !== undefined && timingSafeEqual(digest(given), digest(key))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
