/**
 * @module
 * Measures a real engine through its OpenAI-compatible HTTP interface, by streaming: time per output token of a request alone, and
 * the time to the first token of short requests while a long one runs. What is measured is what a client sees.
 */
import { HorizonError } from '../core/errors.js'
import { readServerEvents } from './server-events.js'

/** How to reach the engine and what to ask. */
export interface EngineOptions {
  /** Base URL, e.g. `http://127.0.0.1:8000`; `/v1` is added where it is missing. */
  readonly url: string
  /** @default the first of `/v1/models` */
  readonly model?: string
  /** Sent as a bearer token. @default none */
  readonly apiKey?: string
  /** Output tokens of the decode measurement. @default 128 */
  readonly decodeTokens?: number
  /** Prompt of the short requests. @default one sentence */
  readonly shortPrompt?: string
  /** More fields of the long request's body, e.g. `{ modalities: ['audio'] }`. @default 2,048 output tokens of text */
  readonly longBody?: Readonly<Record<string, unknown>>
  /** Least output tokens, sent as `min_tokens` and `ignore_eos` (vLLM's extensions), so that lengths do not vary. @default true */
  readonly fixedLength?: boolean
  /** For one request. @default 120000 */
  readonly timeoutMs?: number
}

/** When the pieces of one streamed answer came, ms after the request was sent. */
interface StreamTimes {
  readonly firstMs: number
  readonly lastMs: number
  /** Pieces with content. A piece may hold several tokens; vLLM sends one per token. */
  readonly pieces: number
}

/** A client of one engine. */
export interface EngineProbe {
  readonly model: string
  /** One request with a fixed number of output tokens; ms per token after the first. */
  decodeTpotMs(): Promise<number>
  /**
   * Starts a long request, waits for its first piece, then sends short ones one after another while it runs.
   * Returns the time to the first token of each short request that was sent and answered while the long one ran, and calls
   * `onShort` after each of them.
   */
  ttftBesideLong(count: number, onShort?: () => void): Promise<number[]>
}

const SHORT_PROMPT = 'Say one word.'
const LONG_PROMPT = 'Tell a long story about a lighthouse, in full detail, and do not stop.'

/** Connects: asks for the model. @throws `ERR_GPU_ENGINE_UNAVAILABLE` when nobody answers */
export async function openEngine(options: EngineOptions): Promise<EngineProbe> {
  const base = baseUrl(options.url)
  const timeoutMs = options.timeoutMs ?? 120_000
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (options.apiKey !== undefined) headers.authorization = `Bearer ${options.apiKey}`
  const model = options.model ?? (await firstModel(base, headers, timeoutMs))
  const fixed = options.fixedLength ?? true
  const lengthOf = (tokens: number): Record<string, unknown> => ({
    max_tokens: tokens,
    ...(fixed ? { min_tokens: tokens, ignore_eos: true } : {}),
  })
  const ask = (
    content: string,
    more: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    onFirst?: () => void,
  ): Promise<StreamTimes> => {
    const messages = [{ role: 'user', content }]
    const body = { model, messages, stream: true, temperature: 0, ...more }
    return stream(`${base}/chat/completions`, headers, body, signal, onFirst)
  }
  return {
    model,
    async decodeTpotMs() {
      const tokens = options.decodeTokens ?? 128
      const times = await ask(SHORT_PROMPT, lengthOf(tokens), AbortSignal.timeout(timeoutMs))
      if (times.pieces < 2)
        throw engineError(
          `the answer came in ${times.pieces} piece(s), so no time per token can be read`,
        )
      return (times.lastMs - times.firstMs) / (times.pieces - 1)
    },
    async ttftBesideLong(count, onShort) {
      const stop = new AbortController()
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)])
      let isRunning = true
      let started = (): void => {}
      const hasStarted = new Promise<void>((resolve) => {
        started = resolve
      })
      const long = ask(LONG_PROMPT, options.longBody ?? lengthOf(2048), signal, started)
        .catch((error: unknown) => {
          if (!stop.signal.aborted) throw error
        })
        .finally(() => {
          isRunning = false
          started()
        })
      // A failure of the long request is reported after the short ones, not as an unhandled rejection.
      const ended = long.then(
        () => undefined,
        (error: unknown) => error,
      )
      await hasStarted
      const times: number[] = []
      try {
        for (let i = 0; i < count && isRunning; i++) {
          const prompt = options.shortPrompt ?? SHORT_PROMPT
          const short = await ask(prompt, lengthOf(4), AbortSignal.timeout(timeoutMs))
          if (!isRunning) break
          times.push(short.firstMs)
          onShort?.()
        }
      } finally {
        stop.abort()
      }
      const failure = await ended
      if (failure !== undefined) throw failure
      return times
    },
  }
}

async function firstModel(
  base: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
): Promise<string> {
  const signal = AbortSignal.timeout(Math.min(timeoutMs, 10_000))
  const response = await request(`${base}/models`, { headers, signal })
  const list = (await response.json().catch(() => undefined)) as
    | { data?: { id?: unknown }[] }
    | undefined
  const id = list?.data?.[0]?.id
  if (typeof id !== 'string') throw engineError(`${base}/models names no model`)
  return id
}

async function stream(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  signal: AbortSignal,
  onFirst?: () => void,
): Promise<StreamTimes> {
  const sentMs = performance.now()
  const response = await request(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal,
  })
  if (response.body === null) throw engineError('the answer has no body')
  let pieces = 0
  let firstMs = Number.NaN
  let lastMs = Number.NaN
  for await (const data of readServerEvents(response.body)) {
    if (data === '[DONE]') break
    if (!hasContent(data)) continue
    lastMs = performance.now() - sentMs
    if (pieces === 0) {
      firstMs = lastMs
      onFirst?.()
    }
    pieces += 1
  }
  if (pieces === 0) throw engineError('the stream ended without any content')
  return { firstMs, lastMs, pieces }
}

/** Whether an event carries output of any modality. An event that is an error of the engine is thrown. */
function hasContent(data: string): boolean {
  let event: { error?: { message?: unknown }; choices?: { delta?: Record<string, unknown> }[] }
  try {
    event = JSON.parse(data)
  } catch {
    throw engineError(`an event is not JSON: ${data.slice(0, 80)}`)
  }
  if (event?.error !== undefined)
    throw engineError(`the engine says: ${String(event.error?.message)}`)
  const delta = event?.choices?.[0]?.delta
  if (delta === undefined || delta === null) return false
  return ['content', 'reasoning_content', 'audio'].some((key) => {
    const value = delta[key]
    return value !== undefined && value !== null && value !== ''
  })
}

async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (cause) {
    if (init.signal?.aborted === true && cause instanceof Error && cause.name === 'AbortError')
      throw cause
    throw new HorizonError(
      'ERR_GPU_ENGINE_UNAVAILABLE',
      `${url} does not answer: ${reasonOf(cause)}`,
      {
        cause,
        hint: 'Start the engine first, and give the base URL that its clients use',
      },
    )
  }
  if (!response.ok) {
    const text = (await response.text().catch(() => '')).slice(0, 200)
    throw engineError(`${url} answers ${response.status}: ${text}`)
  }
  return response
}

function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined
  if (inner instanceof Error && inner.message !== '') return inner.message
  return cause instanceof Error ? cause.message : String(cause)
}

function baseUrl(text: string): string {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    url = new URL('invalid:')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new HorizonError('ERR_GPU_ENGINE_URL', 'not the URL of an engine', {
      field: 'engine',
      expected: 'for example http://127.0.0.1:8000',
      got: text,
    })
  }
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`
}

function engineError(what: string): HorizonError {
  return new HorizonError('ERR_GPU_ENGINE', what, {
    hint: 'The engine must stream chat completions as the OpenAI interface does',
  })
}
