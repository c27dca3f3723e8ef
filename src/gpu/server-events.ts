/**
 * @module
 * Server-sent events from a byte stream: the `data` of each event, as the WHATWG rules join its lines.
 */

/** A line longer than this is not an event of an engine but a stream that never ends one. */
const MAX_BUFFER = 16 * 2 ** 20

/** Yields the data of every event; comments, names and ids are skipped. A last event without its blank line counts. */
export async function* readServerEvents(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let buffer = ''
  let data: string[] = []
  for await (const chunk of body) {
    buffer += decoder.decode(chunk, { stream: true })
    if (buffer.length > MAX_BUFFER) throw new RangeError('an event of more than 16 MiB')
    // A carriage return at the very end may be half of a line end: it waits for the next chunk.
    const lines = buffer.split(/\r\n|\n|\r(?!$)/)
    buffer = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n')
        data = []
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5))
      }
    }
  }
  const rest = buffer.replace(/\r$/, '')
  if (rest.startsWith('data:')) data.push(rest.slice(rest[5] === ' ' ? 6 : 5))
  if (data.length > 0) yield data.join('\n')
}
