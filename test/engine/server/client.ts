/**
 * @module
 * A client of the OpenAI-compatible server: one streamed chat, with the time of its first text or its first sound.
 */
import { request } from 'node:http'

/** What one client saw. */
export interface Seen {
  readonly id: string
  readonly kind: 'text' | 'audio'
  /** From sending to the first text or sound, ms; undefined without one. */
  firstMs?: number
  /** Bytes of sound. */
  soundBytes: number
  status: 'answered' | 'aborted' | 'failed'
  error?: string
}

export interface Ask {
  readonly id: string
  readonly kind: 'text' | 'audio'
  readonly maxTokens: number
  /** Leave this long after sending, or at the first output. */
  readonly leave?: { readonly afterMs: number } | 'first'
  readonly prompt?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly more?: Readonly<Record<string, unknown>>
}

const LONGEST_MS = 240_000

/** Sends one chat and reads its stream to the end. Never rejects, and ends whatever the server does. */
export function chat(url: string, model: string, ask: Ask): Promise<Seen> {
  const seen: Seen = { id: ask.id, kind: ask.kind, soundBytes: 0, status: 'failed' }
  const body = JSON.stringify({
    model,
    stream: true,
    max_tokens: ask.maxTokens,
    messages: [{ role: 'user', content: ask.prompt ?? 'w1 w2 w3 w4' }],
    modalities: [ask.kind],
    ...ask.more,
  })
  return new Promise((resolve) => {
    let hasLeft = false
    let rest = ''
    const sent = performance.now()
    const call = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      // A connection of its own: one that leaves takes no other along.
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-request-id': ask.id,
        ...ask.headers,
      },
    })
    const leave = (): void => {
      hasLeft = true
      call.destroy()
    }
    const { leave: when } = ask
    const timers = [
      setTimeout(() => call.destroy(new Error(`no end after ${LONGEST_MS} ms`)), LONGEST_MS),
    ]
    if (typeof when === 'object') timers.push(setTimeout(leave, when.afterMs))
    const read = (line: string): void => {
      if (!line.startsWith('data: ')) return
      if (line.includes('[DONE]')) {
        seen.status = 'answered'
        return
      }
      const chunk = JSON.parse(line.slice(6)) as Chunk
      if (chunk.error !== undefined) seen.error = JSON.stringify(chunk.error).slice(0, 300)
      const content = chunk.choices?.[0]?.delta?.content ?? ''
      if (content === '') return
      seen.firstMs ??= performance.now() - sent
      if (ask.kind === 'audio') seen.soundBytes += wavBytes(content)
      if (when === 'first' && !hasLeft) leave()
    }
    call.on('response', (answer) => {
      answer.setEncoding('utf8')
      answer.on('error', () => {})
      answer.on('data', (part: string) => {
        rest += part
        if (answer.statusCode !== 200) return
        const lines = rest.split('\n')
        rest = lines.pop()!
        for (const line of lines) read(line)
      })
      answer.on('end', () => {
        if (answer.statusCode !== 200) seen.error = `${answer.statusCode} ${rest.slice(0, 300)}`
      })
    })
    call.on('error', (error) => {
      seen.error ??= error.message
    })
    call.on('close', () => {
      for (const timer of timers) clearTimeout(timer)
      if (hasLeft) seen.status = 'aborted'
      else if (seen.error !== undefined) seen.status = 'failed'
      resolve(seen)
    })
    call.end(body)
  })
}

interface Chunk {
  readonly error?: unknown
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
}

/** Bytes of samples in a WAV file in base64; 0 for anything else. */
function wavBytes(text: string): number {
  const bytes = Buffer.from(text, 'base64')
  return bytes.subarray(0, 4).toString('latin1') === 'RIFF' ? bytes.length - 44 : 0
}
