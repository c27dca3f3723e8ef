/**
 * @module
 * A backend behind an OpenAI-compatible server: a request's one input is the JSON body of `POST {baseUrl}/chat/completions`
 * (or another path), sent with `stream: true`; outputs are the deltas of its server-sent events. Time to first output is
 * then what a client of that server sees, HTTP included.
 */
import { HorizonError } from '../../core/errors.js'
import type { Backend } from './backend.js'
import { type ServerOptions, startServer } from './server-process.js'

export interface OpenAiOptions {
  /** For example `http://localhost:8091/v1`. */
  readonly baseUrl: string
  /** @default '/chat/completions' */
  readonly path?: string
  /** Extra headers, for example an authorisation. */
  readonly headers?: Readonly<Record<string, string>>
  /** A request without an event for so long has failed. @default 120_000 */
  readonly idleMs?: number
  /** Started first, and ended with the session; ready when `GET {baseUrl}/models` answers. */
  readonly server?: ServerOptions
}

/** Most characters of one event; a delta with audio is far below. */
const MAX_EVENT_LENGTH = 16 * 2 ** 20

export function openAiBackend(name: string, options: OpenAiOptions): Backend {
  return {
    name,
    open: async () => {
      const close = options.server
        ? await startServer(name, `${options.baseUrl}/models`, options.server)
        : async () => {}
      return { request: (inputs) => streamRequest(name, options, inputs), close }
    },
  }
}

async function* streamRequest(
  name: string,
  options: OpenAiOptions,
  inputs: AsyncIterable<unknown>,
): AsyncIterable<unknown> {
  let body: unknown
  for await (const input of inputs) body = input
  const abort = new AbortController()
  const idleMs = options.idleMs ?? 120_000
  let timer = setTimeout(() => abort.abort(), idleMs)
  try {
    const response = await fetch(options.baseUrl + (options.path ?? '/chat/completions'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...options.headers },
      body: JSON.stringify({ ...(body as object), stream: true }),
      signal: abort.signal,
    })
    if (!response.ok || response.body === null) {
      const text = (await response.text()).slice(0, 200)
      throw failed(name, `HTTP ${response.status}: ${text}`)
    }
    for await (const data of serverSentEvents(name, response.body)) {
      clearTimeout(timer)
      timer = setTimeout(() => abort.abort(), idleMs)
      if (data === '[DONE]') return
      const delta = deltaOf(name, data)
      if (delta !== undefined) yield delta
    }
  } catch (error) {
    if (abort.signal.aborted) throw failed(name, `no event for ${idleMs} ms`)
    throw error
  } finally {
    clearTimeout(timer)
    abort.abort()
  }
}

/** Data fields of an event stream (the HTML standard's format; only `data` matters here). */
export async function* serverSentEvents(
  name: string,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true })
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    if (rest.length > MAX_EVENT_LENGTH) throw failed(name, 'an event is longer than 16 MiB')
    for (const line of lines) {
      if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    }
  }
  if (data.length > 0) yield data.join('\n')
}

/** Text or audio of a chunk; undefined for chunks that carry only a role, usage or a finish reason. */
function deltaOf(name: string, data: string): unknown {
  let chunk: {
    error?: { message?: string }
    choices?: { delta?: { content?: unknown; audio?: unknown }; text?: unknown }[]
  }
  try {
    chunk = JSON.parse(data)
  } catch {
    throw failed(name, `an event is no JSON: ${data.slice(0, 120)}`)
  }
  if (chunk.error !== undefined) throw failed(name, chunk.error.message ?? 'unknown error')
  const choice = chunk.choices?.[0]
  const value = choice?.delta?.audio ?? choice?.delta?.content ?? choice?.text
  return value === '' || value === null ? undefined : value
}

function failed(name: string, why: string): HorizonError {
  return new HorizonError('ERR_DEPLOY_BACKEND_FAILED', `the backend failed: ${why}`, {
    field: name,
  })
}
