/**
 * @module
 * Server-sent events out of the bytes of a response. An event is read as JSON with its one long string (sound or a picture in base64)
 * taken out first: that is never copied nor parsed, its length says what is needed.
 */

export interface ScannedEvent {
  /** Undefined for `[DONE]`. */
  readonly value: Record<string, unknown> | undefined
  /** The long string, which stands as `LONG_STRING` in the value. */
  readonly payload: Buffer | undefined
}

/** Stands in an event where its long string was. */
export const LONG_STRING = '\u0001long'

const LONG_BYTES = 1024
/** An event larger than this is no event. */
const MOST_BYTES = 256 * 2 ** 20
const KEYS = ['"content":', '"data":', '"audio":', '"b64_json":', '"url":'].map((key) =>
  Buffer.from(key),
)
const QUOTE = 0x22

/** `onEvent` is called once per event, in order. Throws a plain `Error` for what is no event stream. */
export function createEventScanner(
  onEvent: (event: ScannedEvent) => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let held = 0

  return (chunk) => {
    // The end of an event may lie across two chunks: the last bytes held are looked at again.
    let bytes = chunk
    const tail = parts[parts.length - 1]
    if (tail !== undefined) {
      const split = tail[tail.length - 1] === 0x0a || tail[tail.length - 1] === 0x0d
      if (split || chunk.includes('\n')) {
        bytes = Buffer.concat([...parts, chunk])
        parts = []
        held = 0
      }
    }
    let start = 0
    for (;;) {
      const end = endOfEvent(bytes, start)
      if (end === undefined) break
      read(bytes.subarray(start, end.at), onEvent)
      start = end.next
    }
    if (start < bytes.length) {
      parts.push(bytes.subarray(start))
      held += bytes.length - start
      if (held > MOST_BYTES) throw new Error(`an event of more than ${MOST_BYTES} bytes`)
    }
  }
}

function endOfEvent(bytes: Buffer, from: number): { at: number; next: number } | undefined {
  for (let at = bytes.indexOf(0x0a, from); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at + 1] === 0x0a) return { at, next: at + 2 }
    if (bytes[at + 1] === 0x0d && bytes[at + 2] === 0x0a) return { at, next: at + 3 }
  }
  return undefined
}

function read(event: Buffer, onEvent: (event: ScannedEvent) => void): void {
  for (let start = 0; start < event.length; ) {
    const newline = event.indexOf(0x0a, start)
    const end = newline === -1 ? event.length : newline
    if (event.toString('latin1', start, start + 5) === 'data:') {
      const data = event.subarray(event[start + 5] === 0x20 ? start + 6 : start + 5, end)
      onEvent(parse(data))
    }
    start = end + 1
  }
}

function parse(data: Buffer): ScannedEvent {
  if (data.length < 16 && data.toString('latin1').trim() === '[DONE]') {
    return { value: undefined, payload: undefined }
  }
  return parseLong(data)
}

/** Parses JSON with its long string taken out. Throws where it is not an object. */
export function parseLong(data: Buffer): ScannedEvent {
  const payload = data.length > LONG_BYTES ? longString(data) : undefined
  const text =
    payload === undefined
      ? data.toString('utf8')
      : `${data.toString('utf8', 0, payload.start)}\\u0001long${data.toString('utf8', payload.end)}`
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) throw new Error('an event that is no object')
  return {
    value: value as Record<string, unknown>,
    payload: payload === undefined ? undefined : data.subarray(payload.start, payload.end),
  }
}

function longString(data: Buffer): { start: number; end: number } | undefined {
  for (const key of KEYS) {
    for (let at = data.indexOf(key); at !== -1; at = data.indexOf(key, at + key.length)) {
      let start = at + key.length
      while (data[start] === 0x20) start++
      if (data[start] !== QUOTE) continue
      const end = data.indexOf(QUOTE, start + 1)
      // A string with an escape is text, not base64.
      if (end - start > LONG_BYTES && data[end - 1] !== 0x5c) return { start: start + 1, end }
    }
  }
  return undefined
}
