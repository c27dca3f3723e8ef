/**
 * @module
 * Requests as they come over the wire, read into what the engine takes. A token is four characters of text; media are counted by what
 * was sent: seconds by the length of a WAV, pictures and videos one by one.
 */
import { z } from 'zod'
import { WAV_HEADER_BYTES } from '../wav.js'
import type { TwinRequest } from './request-row.js'
import type { TwinInput, TwinSpec } from './twin-spec.js'

/** Answered with a status and an OpenAI error object. */
export class WireError extends Error {
  readonly status: number
  readonly parameter: string | undefined

  constructor(status: number, message: string, parameter?: string) {
    super(message)
    this.status = status
    this.parameter = parameter
  }
}

export interface WireRequest {
  readonly request: TwinRequest
  readonly model: string
  readonly stream: boolean
  readonly stageMetrics: boolean
  /** Chat: the answer's parts that the client wants. */
  readonly text: boolean
  readonly includeUsage: boolean
  readonly audioFormat: string
  /** Speech: raw bytes instead of server-sent events. */
  readonly raw: boolean
  readonly image: { readonly width: number; readonly height: number }
}

const tokens = z.number().int().min(1).max(1_000_000).nullish()
const slo = z.looseObject({ slo_ms: z.number().positive().optional() }).nullish()
const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  input_audio: z.looseObject({ data: z.string() }).optional(),
})
const chat = z.looseObject({
  model: z.string().optional(),
  messages: z
    .array(z.looseObject({ content: z.union([z.string(), z.array(part)]).nullish() }))
    .min(1),
  modalities: z
    .array(z.enum(['text', 'audio', 'image']))
    .min(1)
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  return_stage_metrics: z.boolean().nullish(),
  audio: z.looseObject({ format: z.string().optional() }).nullish(),
  additional_information: slo,
  sampling_params_list: z
    .array(z.looseObject({ max_tokens: tokens, extra_args: slo }).nullable())
    .nullish(),
})
const speech = z.looseObject({
  model: z.string().optional(),
  input: z.string().min(1),
  stream: z.boolean().nullish(),
  stream_format: z.enum(['sse', 'audio']).nullish(),
  response_format: z.enum(['wav', 'pcm']).nullish(),
  max_new_tokens: tokens,
  return_stage_metrics: z.boolean().nullish(),
  extra_params: slo,
})
const images = z.looseObject({
  model: z.string().optional(),
  prompt: z.string().min(1),
  n: z.literal(1).nullish(),
  size: z
    .string()
    .regex(/^\d{1,4}x\d{1,4}$/)
    .nullish(),
  response_format: z.enum(['b64_json']).nullish(),
  return_stage_metrics: z.boolean().nullish(),
  extra_params: slo,
})

/** Text that the built-in class of short answers decodes when nobody says how much. */
const DEFAULT_ANSWER_TOKENS = 32

export function readChat(spec: TwinSpec, body: unknown): WireRequest {
  const of = check(chat, body)
  const wanted = of.modalities ?? ['text']
  let characters = 0
  let audioSeconds = 0
  let pictures = 0
  let videos = 0
  for (const { content } of of.messages) {
    if (typeof content === 'string') characters += content.length
    for (const one of typeof content === 'string' ? [] : (content ?? [])) {
      characters += one.text?.length ?? 0
      if (one.type === 'image_url') pictures++
      else if (one.type === 'video_url') videos++
      else if (one.type === 'audio_url') audioSeconds += 5
      else if (one.input_audio !== undefined) audioSeconds += wavSeconds(one.input_audio.data)
    }
  }
  const output = wanted.includes('audio') ? 'audio' : wanted.includes('image') ? 'image' : 'text'
  const input = videos > 0 ? 'video' : pictures > 0 ? 'image' : audioSeconds > 0 ? 'audio' : 'text'
  const first = of.sampling_params_list?.[0]
  const sloMs = of.additional_information?.slo_ms ?? first?.extra_args?.slo_ms
  return {
    request: {
      classIndex: classOf(spec, output, input),
      promptTokens: textTokens(characters),
      answerTokens:
        of.max_completion_tokens ??
        of.max_tokens ??
        first?.max_tokens ??
        (output === 'audio' ? spec.omni.spokenAnswerTokens : DEFAULT_ANSWER_TOKENS),
      audioSeconds,
      images: pictures,
      videos,
      ...(sloMs === undefined ? {} : { sloMs }),
    },
    model: of.model ?? spec.name,
    stream: of.stream ?? false,
    stageMetrics: of.return_stage_metrics ?? false,
    text: wanted.includes('text') || output === 'text',
    includeUsage: of.stream_options?.include_usage ?? false,
    audioFormat: of.audio?.format ?? 'wav',
    raw: false,
    image: { width: 256, height: 256 },
  }
}

export function readSpeech(spec: TwinSpec, body: unknown): WireRequest {
  const of = check(speech, body)
  const sloMs = of.extra_params?.slo_ms
  const promptTokens = textTokens(of.input.length)
  return {
    request: {
      classIndex: classOf(spec, 'audio', 'text'),
      promptTokens,
      // What is read aloud is as long as its text.
      answerTokens: Math.min(promptTokens, of.max_new_tokens ?? promptTokens),
      audioSeconds: 0,
      images: 0,
      videos: 0,
      ...(sloMs === undefined ? {} : { sloMs }),
    },
    model: of.model ?? spec.name,
    stream: of.stream ?? of.stream_format != null,
    stageMetrics: of.return_stage_metrics ?? false,
    text: false,
    includeUsage: false,
    audioFormat: of.response_format ?? 'wav',
    raw: of.stream_format === 'audio',
    image: { width: 0, height: 0 },
  }
}

export function readImages(spec: TwinSpec, body: unknown): WireRequest {
  const of = check(images, body)
  const sloMs = of.extra_params?.slo_ms
  const [width = 256, height = 256] = (of.size ?? '256x256').split('x').map(Number)
  if (width < 1 || height < 1 || width > 4096 || height > 4096) {
    throw new WireError(400, `size must be from 1x1 to 4096x4096, got ${of.size}`, 'size')
  }
  return {
    request: {
      classIndex: classOf(spec, 'image', 'text'),
      promptTokens: textTokens(of.prompt.length),
      answerTokens: 1,
      audioSeconds: 0,
      images: 0,
      videos: 0,
      ...(sloMs === undefined ? {} : { sloMs }),
    },
    model: of.model ?? spec.name,
    stream: false,
    stageMetrics: of.return_stage_metrics ?? false,
    text: false,
    includeUsage: false,
    audioFormat: 'wav',
    raw: false,
    image: { width, height },
  }
}

function check<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const field = issue?.path.join('.') || 'body'
  throw new WireError(400, `${field}: ${issue?.message ?? 'invalid'}`, field)
}

function classOf(spec: TwinSpec, output: 'text' | 'audio' | 'image', input: TwinInput): number {
  const index = spec.classes.findIndex((of) => of.output === output && of.inputs.includes(input))
  if (index !== -1) return index
  const served = spec.classes.map((of) => of.modality).join(', ')
  throw new WireError(
    400,
    `this model has no ${output} answer to ${input}: it serves ${served}`,
    'modalities',
  )
}

function textTokens(characters: number): number {
  return Math.max(1, Math.ceil(characters / 4))
}

/** Seconds of a base64 WAV, by its own header; anything else counts as 16 kHz of 16 bits. */
function wavSeconds(data: string): number {
  const comma = data.startsWith('data:') ? data.indexOf(',') + 1 : 0
  const header = Buffer.from(data.slice(comma, comma + 60), 'base64')
  const bytes = ((data.length - comma) * 3) / 4 - WAV_HEADER_BYTES
  const isWav = header.length >= WAV_HEADER_BYTES && header.toString('ascii', 0, 4) === 'RIFF'
  const perSecond = isWav ? header.readUInt32LE(28) : 32_000
  return Math.min(3600, Math.max(0, bytes / (perSecond || 32_000)))
}
