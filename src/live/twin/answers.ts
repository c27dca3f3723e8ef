/**
 * @module
 * What goes back over the wire while a request runs: chunks of a chat, sound of a speech, an image, in the shapes of vLLM-Omni 0.30.0
 * or of sglang-omni 0.1.9. Each answer is a listener of the engine that writes to one response.
 */
import type { ServerResponse } from 'node:http'
import { solidPng } from '../png.js'
import { wavHeader } from '../wav.js'
import type { RowTimes, TwinListener } from './request-row.js'
import { SAMPLE_RATE_HZ, type SpeechSamples } from './speech-samples.js'
import { stageMetrics } from './stage-metrics.js'
import type { TwinSpec } from './twin-spec.js'
import type { WireRequest } from './wire-request.js'

/** Where the sound of a chat stands: in `delta.content` beside a `modality`, or in `delta.audio`. */
export type Dialect = 'vllm-omni' | 'sglang-omni'

export interface AnswerContext {
  readonly spec: TwinSpec
  readonly dialect: Dialect
  readonly samples: SpeechSamples
}

const WORDS = ['The ', 'way ', 'was ', 'not ', 'far ', 'and ', 'all ', 'day ', 'the ', 'sun ']

/** Text of the tokens from one count to another: each is four characters. */
function wordsOf(from: number, to: number): string {
  let text = ''
  for (let i = from; i < to; i++) text += WORDS[i % WORDS.length]
  return text
}

export function startEvents(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  })
}

/** A streamed chat. The first event is sent with the first token: status and headers leave with it. */
export function chatStream(
  { spec, dialect, samples }: AnswerContext,
  wire: WireRequest,
  id: string,
  response: ServerResponse,
): TwinListener {
  const { output } = spec.classes[wire.request.classIndex] as TwinSpec['classes'][number]
  const created = Math.floor(Date.now() / 1000)
  const asWav = dialect === 'vllm-omni' || wire.audioFormat !== 'pcm16'
  let decoded = 0
  let sentUnits = 0
  let role: string | undefined = 'assistant'

  function send(delta: object, modality: string, finish: string | null, rest: object = {}): void {
    if (!response.headersSent) startEvents(response)
    const named = role === undefined ? delta : { role, ...delta }
    role = undefined
    const chunk = {
      id,
      object: 'chat.completion.chunk',
      created,
      model: wire.model,
      choices: [{ index: 0, delta: named, finish_reason: finish }],
      ...(dialect === 'vllm-omni' ? { modality } : {}),
      ...rest,
    }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }

  return {
    tokens(done) {
      const early = output === 'text' || spec.textBeforeAudio
      if (wire.text && early && done > decoded)
        send({ content: wordsOf(decoded, done) }, 'text', null)
      decoded = done
    },
    handedOver() {
      if (wire.text && output === 'audio' && !spec.textBeforeAudio) {
        send({ content: wordsOf(0, decoded) }, 'text', null)
      }
    },
    units(done) {
      if (output !== 'audio') return
      const data = samples.base64(sentUnits, done, asWav ? 'wav' : 'pcm')
      const metadata = {
        audio_metadata: {
          format: asWav ? 'wav' : 'pcm16',
          sample_rate_hz: SAMPLE_RATE_HZ,
          channels: 1,
        },
      }
      sentUnits = done
      if (dialect === 'vllm-omni') send({ content: data }, 'audio', null, metadata)
      else send({ audio: { id: `audio-${id}`, data } }, 'audio', null)
    },
    end(times) {
      if (output === 'image') {
        const url = `data:image/png;base64,${pngText(wire.image.width, wire.image.height)}`
        send({ content: [{ type: 'image_url', image_url: { url } }] }, 'image', null)
      }
      const metrics = wire.stageMetrics
        ? { metrics: stageMetrics(times, wire.request, output, decoded, sentUnits || 1) }
        : {}
      const usage = usageOf(wire, decoded)
      send({}, output, 'stop', { ...metrics, ...(dialect === 'sglang-omni' ? { usage } : {}) })
      if (wire.includeUsage && dialect === 'vllm-omni') {
        const last = {
          id,
          object: 'chat.completion.chunk',
          created,
          model: wire.model,
          choices: [],
          usage,
        }
        response.write(`data: ${JSON.stringify(last)}\n\n`)
      }
      response.end('data: [DONE]\n\n')
    },
  }
}

/** A chat answered at once, one choice per modality. */
export function chatWhole(
  { spec, samples }: AnswerContext,
  wire: WireRequest,
  id: string,
  response: ServerResponse,
): TwinListener {
  const { output } = spec.classes[wire.request.classIndex] as TwinSpec['classes'][number]
  let decoded = 0
  let units = 0
  return {
    tokens(done) {
      decoded = done
    },
    units(done) {
      units = done
    },
    end(times) {
      const choices: object[] = []
      const add = (message: object, rest: object = {}): void =>
        void choices.push({
          index: choices.length,
          message: { role: 'assistant', ...message },
          finish_reason: 'stop',
          ...rest,
        })
      if (wire.text) add({ content: wordsOf(0, decoded) })
      if (output === 'audio') {
        const data = samples.base64(0, units, 'wav')
        add({ content: null, audio: { id: `audio-${id}`, data, expires_at: 0, transcript: '' } })
      }
      if (output === 'image') {
        const url = `data:image/png;base64,${pngText(wire.image.width, wire.image.height)}`
        add({ content: [{ type: 'image_url', image_url: { url } }] })
      }
      sendJson(response, 200, {
        id,
        object: 'chat.completion',
        created: Math.floor(Date.now() / 1000),
        model: wire.model,
        choices,
        usage: usageOf(wire, decoded),
        ...(wire.stageMetrics
          ? { metrics: stageMetrics(times, wire.request, output, decoded, units || 1) }
          : {}),
      })
    },
  }
}

/** `/v1/audio/speech`: raw bytes as they are made, server-sent events, or one body at the end. */
export function speechAnswer(
  { samples }: AnswerContext,
  wire: WireRequest,
  response: ServerResponse,
): TwinListener {
  const isWav = wire.audioFormat === 'wav'
  const type = isWav ? 'audio/wav' : 'audio/pcm'
  let decoded = 0
  let sent = 0
  const event = (name: string, rest: object): void =>
    void response.write(`event: ${name}\ndata: ${JSON.stringify({ type: name, ...rest })}\n\n`)
  return {
    tokens(done) {
      decoded = done
    },
    units(done) {
      if (!wire.stream) {
        sent = done
        return
      }
      if (wire.raw) {
        if (!response.headersSent) {
          response.writeHead(200, {
            'content-type': type,
            'x-sample-rate': String(SAMPLE_RATE_HZ),
            'x-channels': '1',
            'x-bit-depth': '16',
          })
          if (isWav) response.write(wavHeader(SAMPLE_RATE_HZ, undefined))
        }
        response.write(samples.pcm(sent, done))
      } else {
        if (!response.headersSent) startEvents(response)
        event('speech.audio.delta', {
          audio: samples.base64(sent, done, isWav ? 'wav' : 'pcm'),
          response_format: wire.audioFormat,
        })
      }
      sent = done
    },
    end() {
      if (!wire.stream) {
        const pcm = samples.pcm(0, sent)
        response.writeHead(200, { 'content-type': type })
        response.end(isWav ? Buffer.concat([wavHeader(SAMPLE_RATE_HZ, pcm.length), pcm]) : pcm)
        return
      }
      if (!wire.raw) event('speech.audio.done', { usage: usageOf(wire, decoded) })
      response.end()
    },
  }
}

/** `/v1/images/generations`. */
export function imageAnswer(wire: WireRequest, response: ServerResponse): TwinListener {
  const { width, height } = wire.image
  let units = 0
  return {
    handedOver(count) {
      units = count
    },
    end(times: RowTimes) {
      sendJson(response, 200, {
        created: Math.floor(Date.now() / 1000),
        data: [{ b64_json: pngText(width, height) }],
        output_format: 'png',
        size: `${width}x${height}`,
        ...(wire.stageMetrics
          ? { metrics: stageMetrics(times, wire.request, 'image', 1, units || 1) }
          : {}),
      })
    },
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

function usageOf(wire: WireRequest, decoded: number): object {
  const prompt = wire.request.promptTokens
  return { prompt_tokens: prompt, completion_tokens: decoded, total_tokens: prompt + decoded }
}

const pictures = new Map<string, string>()
const KEPT_PICTURES = 16

function pngText(width: number, height: number): string {
  const key = `${width}x${height}`
  const found = pictures.get(key)
  if (found !== undefined) return found
  const text = solidPng(width, height, 0x3366cc).toString('base64')
  if (pictures.size >= KEPT_PICTURES) pictures.clear()
  pictures.set(key, text)
  return text
}
