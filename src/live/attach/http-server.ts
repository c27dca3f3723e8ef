/**
 * @module
 * A server behind HTTP, probed: OpenAI-compatible chat and images, streamed, in the dialects of vLLM-Omni, sglang-omni and OpenAI.
 */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, Agent as TlsAgent } from 'node:https'
import { monotonicMs } from '../monotonic.js'
import { solidPng } from '../png.js'
import { WAV_HEADER_BYTES, wavHeader } from '../wav.js'
import type { ProbeServer, ProbeShape, ProbeTimes, StageTimes } from './probe.js'

export interface HttpServerOptions {
  readonly url: string
  readonly model: string
  /** Bearer token. */
  readonly key?: string
  /** A probe without an answer for so long has failed. @default 120000 */
  readonly timeoutMs?: number
}

const SPOKEN_HZ = 16_000
const CHARACTERS = 4
const WORD = 'sun '
/** Gauges that tell of work, in the names of vLLM and vLLM-Omni. */
const BUSY = /^(?:vllm|vllm_omni):num_requests_(?:running|waiting)(?:\{[^}]*\})? (\S+)$/gm
const MAX_PAGE_CHARACTERS = 8_000_000

export interface HttpProbeServer extends ProbeServer {
  /** GET, as text; undefined for another status than 200 or no answer. */
  get(path: string): Promise<string | undefined>
  close(): void
}

export function httpServer(options: HttpServerOptions): HttpProbeServer {
  const base = new URL(options.url)
  const isTls = base.protocol === 'https:'
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  const start = isTls ? httpsRequest : httpRequest
  const timeoutMs = options.timeoutMs ?? 120_000
  const headers = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }

  const send = (
    method: string,
    path: string,
    body: string | undefined,
    onResponse: (response: IncomingMessage) => void,
    onEnd: () => void,
  ): void => {
    const request = start(
      new URL(path, base),
      {
        method,
        agent,
        timeout: timeoutMs,
        headers: {
          ...headers,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      },
      (response) => {
        onResponse(response)
        response.on('close', onEnd)
      },
    )
    request.on('timeout', () => request.destroy())
    request.on('error', onEnd)
    request.end(body)
  }

  const get = (path: string): Promise<string | undefined> =>
    new Promise((resolve) => {
      let text = ''
      let isGood = false
      send(
        'GET',
        path,
        undefined,
        (response) => {
          isGood = response.statusCode === 200
          response.on('data', (part: Buffer) => {
            if (text.length < MAX_PAGE_CHARACTERS) text += part.toString('latin1')
          })
        },
        () => resolve(isGood ? text : undefined),
      )
    })

  const probeNow = (shape: ProbeShape): Promise<ProbeTimes> =>
    new Promise((resolve) => {
      const isImage = shape.output === 'image'
      const path = isImage ? '/v1/images/generations' : '/v1/chat/completions'
      const body = JSON.stringify(bodyOf(shape, options.model))
      const seen = createAnswer()
      let status = 0
      let isOver = false
      const startMs = monotonicMs()
      send(
        'POST',
        path,
        body,
        (response) => {
          status = response.statusCode ?? 0
          response.on('data', (part: Buffer) => seen.take(part, monotonicMs()))
        },
        () => {
          if (isOver) return
          isOver = true
          resolve({ ...seen.times(isImage), status, startMs, endMs: monotonicMs() })
        },
      )
    })

  return {
    get,
    probe: (shape) =>
      shape.delayMs === undefined
        ? probeNow(shape)
        : new Promise((resolve) => {
            setTimeout(() => resolve(probeNow(shape)), shape.delayMs)
          }),
    async numBusy() {
      const page = await get('/metrics')
      if (page === undefined) return Number.NaN
      const values = [...page.matchAll(BUSY)].map(([, value]) => Number(value))
      return values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0)
    },
    close: () => agent.destroy(),
  }
}

function bodyOf(shape: ProbeShape, model: string): unknown {
  const text = WORD.repeat(Math.max(1, Math.round((shape.promptTokens * CHARACTERS) / WORD.length)))
  if (shape.output === 'image') return { model, prompt: text, n: 1, return_stage_metrics: true }
  const parts: unknown[] = [{ type: 'text', text }]
  if (shape.audioSeconds > 0) {
    const data = spoken(shape.audioSeconds).toString('base64')
    parts.push({ type: 'input_audio', input_audio: { data, format: 'wav' } })
  }
  for (let i = 0; i < shape.images; i++) {
    const url = `data:image/png;base64,${solidPng(256, 256, 0x40_60_80 + i).toString('base64')}`
    parts.push({ type: 'image_url', image_url: { url } })
  }
  return {
    model,
    messages: [{ role: 'user', content: parts.length === 1 ? text : parts }],
    modalities: shape.output === 'audio' ? ['text', 'audio'] : ['text'],
    stream: true,
    temperature: 0,
    return_stage_metrics: true,
    stream_options: { include_usage: true },
    ...(shape.answerTokens > 0 && { max_tokens: shape.answerTokens, ignore_eos: true }),
  }
}

function spoken(seconds: number): Buffer {
  const bytes = Math.round(seconds * SPOKEN_HZ) * 2
  return Buffer.concat([
    wavHeader(SPOKEN_HZ, bytes).subarray(0, WAV_HEADER_BYTES),
    Buffer.alloc(bytes),
  ])
}

/** Reads an answer as it comes: times are taken before anything is parsed. */
function createAnswer() {
  let rest = ''
  let firstTextMs = Number.NaN
  let lastTextMs = Number.NaN
  let firstSoundMs = Number.NaN
  let soundChunks = 0
  let stages: StageTimes[] = []
  let promptTokens = Number.NaN

  const readTotals = (value: Record<string, unknown>): void => {
    const usage = value.usage as { prompt_tokens?: unknown } | null | undefined
    if (typeof usage?.prompt_tokens === 'number') promptTokens = usage.prompt_tokens
    const metrics = value.metrics as { stage_metrics?: Record<string, unknown> } | undefined
    if (typeof metrics?.stage_metrics === 'object' && metrics.stage_metrics !== null)
      stages = stagesOf(metrics.stage_metrics)
  }
  const event = (data: string, nowMs: number): void => {
    if (data === '[DONE]') return
    const value = parse(data)
    if (value === undefined) return
    readTotals(value)
    const choice = (value.choices as { delta?: Record<string, unknown> }[] | undefined)?.[0]
    const delta = choice?.delta
    if (delta === undefined) return
    const audio = delta.audio as { data?: unknown } | null | undefined
    const { content } = delta
    const hasContent = typeof content === 'string' && content !== ''
    if (
      (hasContent && value.modality === 'audio') ||
      (audio?.data !== undefined && audio.data !== '')
    ) {
      if (Number.isNaN(firstSoundMs)) firstSoundMs = nowMs
      soundChunks += 1
    } else if (hasContent) {
      if (Number.isNaN(firstTextMs)) firstTextMs = nowMs
      lastTextMs = nowMs
    }
  }
  return {
    take(part: Buffer, nowMs: number): void {
      rest += part.toString('latin1')
      for (;;) {
        const end = rest.indexOf('\n')
        if (end === -1) return
        const line = rest.slice(0, end).trimEnd()
        rest = rest.slice(end + 1)
        if (line.startsWith('data:')) event(line.slice(5).trimStart(), nowMs)
      }
    },
    /** `isWhole`: the answer is one JSON object. */
    times(isWhole: boolean) {
      if (isWhole) readTotals(parse(rest) ?? {})
      return { firstTextMs, lastTextMs, firstSoundMs, soundChunks, stages, promptTokens }
    },
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as never) : undefined
  } catch {
    return undefined
  }
}

function stagesOf(metrics: Record<string, unknown>): StageTimes[] {
  const stages: StageTimes[] = []
  for (const key of Object.keys(metrics).sort((a, b) => Number(a) - Number(b))) {
    const of = metrics[key] as Record<string, unknown>
    const number = (name: string): number =>
      typeof of[name] === 'number' ? (of[name] as number) : Number.NaN
    stages.push({
      busyMs: number('stage_gen_time_ms'),
      firstOutputMs: number('serving_time_to_first_output_ms'),
      tokensIn: number('num_tokens_in'),
    })
  }
  return stages
}
