/**
 * @module
 * What an answer says, as it arrives: first byte, first token, first sound, its end, and whether it is one. The instant of a piece is
 * taken before the piece is looked at. All three places for sound are known: `delta.content` beside `modality: audio` (vLLM-Omni),
 * `delta.audio.data` (sglang-omni, OpenAI), and bytes or events of `/v1/audio/speech`.
 */
import type { LoadClass } from '../load-class.js'
import { createEventScanner, LONG_STRING, parseLong, type ScannedEvent } from './event-scanner.js'
import { createSoundMeter, type SoundMeter } from './sound-meter.js'

export interface Answer {
  /** NaN until there was one. */
  readonly firstTokenMs: number
  readonly lastTokenMs: number
  /** Pieces of text that were not empty. */
  readonly textChunks: number
  readonly images: number
  readonly sound: SoundMeter
  /** The server's own stage times, where it sent them. */
  readonly stageMetrics: unknown
  /** What the stream or the body said went wrong. */
  readonly error: string | undefined
  chunk(bytes: Buffer, nowMs: number): void
  /** The body is complete. */
  end(nowMs: number): void
}

/** A body that is kept whole is at most this long. */
const MOST_BODY_BYTES = 256 * 2 ** 20

export function createAnswer(
  of: LoadClass,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Answer {
  const sound = createSoundMeter()
  const rate = Number(headers['x-sample-rate'])
  if (rate > 0) sound.bytesPerSecond = rate * 2
  const type = String(headers['content-type'] ?? '')
  const isEvents = type.startsWith('text/event-stream')
  const isRaw = of.endpoint === '/v1/audio/speech' && !isEvents && !type.includes('json')
  const body: Buffer[] = []
  let bodyBytes = 0
  let nowMs = 0
  let complete = !isEvents
  const scan = createEventScanner((event) => onEvent(event))

  function onEvent({ value, payload }: ScannedEvent): void {
    if (value === undefined) {
      complete = true
      return
    }
    if (value.error !== undefined && value.error !== null) fail(value.error)
    if (value.type === 'speech.audio.delta') soundOf(value.audio, payload)
    else if (value.type === 'speech.audio.done') complete = true
    else if (value.type === 'speech.audio.error') fail(value.error ?? value)
    else if (Array.isArray(value.choices)) {
      for (const choice of value.choices) {
        const { delta = {}, finish_reason: finish } = choice as Choice
        if (finish !== undefined && finish !== null) complete = true
        piece(delta, value.modality, payload, choice as Choice)
      }
    }
    const metrics = value.metrics as { stage_metrics?: unknown } | null | undefined
    if (metrics?.stage_metrics !== undefined) answer.stageMetrics = metrics.stage_metrics
  }

  /** One delta of a stream, or one message of a whole answer. */
  function piece(
    delta: Delta,
    modality: unknown,
    payload: Buffer | undefined,
    choice: Choice,
  ): void {
    const { content } = delta
    const data = delta.audio?.data
    if (typeof data === 'string') soundOf(data, payload)
    if (Array.isArray(content)) {
      for (const part of content) {
        if ((part as { type?: unknown } | null)?.type === 'image_url') answer.images++
      }
    } else if (modality === 'audio') {
      const hertz = choice.audio_metadata?.sample_rate_hz
      if (typeof hertz === 'number' && hertz > 0) sound.bytesPerSecond = hertz * 2
      soundOf(content, payload)
    } else if (isText(content) || isText(delta.reasoning_content) || isText(delta.reasoning)) {
      if (Number.isNaN(answer.firstTokenMs)) answer.firstTokenMs = nowMs
      answer.lastTokenMs = nowMs
      answer.textChunks++
    }
  }

  function soundOf(text: unknown, payload: Buffer | undefined): void {
    if (typeof text !== 'string' || text === '') return
    const bytes = text === LONG_STRING && payload !== undefined ? payload : Buffer.from(text)
    sound.base64(bytes, nowMs)
  }

  function fail(error: unknown): void {
    const message = (error as { message?: unknown } | null)?.message ?? error
    answer.error ??= typeof message === 'string' ? message : JSON.stringify(message)
  }

  function whole(): void {
    const { value = {}, payload } = parseLong(
      body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body),
    )
    if (value.error !== undefined && value.error !== null) fail(value.error)
    const metrics = value.metrics as { stage_metrics?: unknown } | null | undefined
    answer.stageMetrics = metrics?.stage_metrics
    for (const choice of (value.choices ?? []) as Choice[]) {
      const message = choice.message ?? {}
      // Only one string was taken out; `audio.data` is the one wherever there is sound.
      piece(message, undefined, payload, choice)
    }
    for (const one of (value.data ?? []) as { b64_json?: unknown; url?: unknown }[]) {
      if (isText(one.b64_json) || isText(one.url)) answer.images++
    }
  }

  const answer = {
    firstTokenMs: Number.NaN,
    lastTokenMs: Number.NaN,
    textChunks: 0,
    images: 0,
    sound,
    stageMetrics: undefined as unknown,
    error: undefined as string | undefined,
    chunk(bytes: Buffer, atMs: number) {
      nowMs = atMs
      try {
        if (isEvents) scan(bytes)
        else if (isRaw) sound.raw(bytes, atMs)
        else {
          bodyBytes += bytes.length
          if (bodyBytes > MOST_BODY_BYTES) throw new Error('the body is too long')
          body.push(bytes)
        }
      } catch (error) {
        fail(`the answer cannot be read: ${error instanceof Error ? error.message : error}`)
      }
    },
    end(atMs: number) {
      nowMs = atMs
      if (!complete) fail('the stream ended before its end')
      if (isEvents || isRaw) return
      try {
        whole()
      } catch (error) {
        fail(`the answer cannot be read: ${error instanceof Error ? error.message : error}`)
      }
    },
  }
  return answer
}

interface Delta {
  readonly content?: unknown
  readonly audio?: { readonly data?: unknown } | null
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
}

interface Choice {
  readonly delta?: Delta
  readonly message?: Delta
  readonly finish_reason?: unknown
  readonly audio_metadata?: { readonly sample_rate_hz?: unknown }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
