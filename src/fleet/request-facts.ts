/**
 * @module
 * What a picker needs to know of an HTTP request: its class, its own SLO, its session. Read from method, path, headers and body of the
 * APIs that vLLM-Omni serves (chat, speech, images, edits, realtime). Whatever cannot be read counts as not said: a picker must not
 * refuse what the engine behind it may understand.
 */
import { createClassifier, type Modality } from '../adapters/classify.js'
import type { HorizonConfig } from '../config.js'

export interface RequestFacts {
  /** Index into the classes of the configuration. */
  readonly classIndex: number
  /** The request's own first-response SLO, ms. */
  readonly sloMs: number | undefined
  /** Names the session or prefix; empty for none. */
  readonly session: string
}

export interface FactsInput {
  readonly path: string
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Whether the request may name its class and SLO. */
  readonly trusted: boolean
}

/** Headers that may set an SLO, newest name first, and a class. A picker takes them off where they are not trusted. */
export const SLO_HEADERS: readonly string[] = ['x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms']
export const CLASS_HEADER = 'x-horizonserve-class'
export const SESSION_HEADER = 'x-session-id'

/** Bodies up to this size are parsed; of larger ones both ends are searched. */
const PARSE_BYTES = 1 << 20
const SEARCH_BYTES = 1 << 16
/** A prompt shares a prefix from this length on; what lies beyond the second is not looked at. */
const PREFIX_CHARS = 256
const PREFIX_MOST = 2048
const MOST_SLO_MS = 86_400_000

type Json = Readonly<Record<string, unknown>>

export function createFactsReader(config: HorizonConfig): (input: FactsInput) => RequestFacts {
  const names = Object.keys(config.classes)
  const classify = createClassifier(
    Object.values(config.classes).map(({ output, inputs, priority }) => ({
      output,
      ...(inputs === undefined ? {} : { inputs }),
      priority: priority ?? 0,
    })),
  )
  return ({ path, headers, body, trusted }) => {
    const json = isJson(headers) || headers.get('content-type') === undefined ? parse(body) : {}
    const asked = trusted ? names.indexOf(headers.get(CLASS_HEADER) ?? '') : -1
    return {
      classIndex: asked >= 0 ? asked : classify(marksOf(path, json, body)),
      sloMs: trusted ? sloOf(headers, json) : undefined,
      session: sessionOf(headers, json),
    }
  }
}

function isJson(headers: ReadonlyMap<string, string>): boolean {
  return /^application\/(.*\+)?json/i.test(headers.get('content-type') ?? '')
}

function parse(body: Buffer): Json {
  if (body.length === 0 || body.length > PARSE_BYTES) return {}
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}

function marksOf(
  path: string,
  json: Json,
  body: Buffer,
): { modalities: unknown; inputs: Modality[] } {
  const route = path.split('?', 1)[0] ?? ''
  if (/\/audio\/(speech|generate)/.test(route))
    return { modalities: 'audio', inputs: json.ref_audio === undefined ? [] : ['audio'] }
  if (route.includes('/images/edits')) return { modalities: 'image', inputs: ['image'] }
  if (route.includes('/images/')) return { modalities: 'image', inputs: [] }
  if (route.includes('/videos')) return { modalities: 'video', inputs: [] }
  if (route.includes('/realtime')) return { modalities: 'audio', inputs: ['audio'] }
  if (body.length > PARSE_BYTES) return searched(body)
  return { modalities: json.modalities ?? 'text', inputs: inputsOf(json.messages) }
}

/** What both ends of a large chat body say: modalities stand before or after the messages. */
function searched(body: Buffer): { modalities: unknown; inputs: Modality[] } {
  const ends =
    body.toString('latin1', 0, SEARCH_BYTES) +
    body.toString('latin1', Math.max(SEARCH_BYTES, body.length - SEARCH_BYTES))
  const said = /"modalities"\s*:\s*\[([^\]]{0,200})\]/.exec(ends)?.[1] ?? '"text"'
  const inputs: Modality[] = []
  if (/"(input_audio|audio_url)"/.test(ends)) inputs.push('audio')
  if (ends.includes('"image_url"')) inputs.push('image')
  if (ends.includes('"video_url"')) inputs.push('video')
  return { modalities: [...said.matchAll(/"([a-z]+)"/g)].map((match) => match[1]), inputs }
}

function inputsOf(messages: unknown): Modality[] {
  const found = new Set<Modality>()
  if (!Array.isArray(messages)) return []
  for (const message of messages) {
    if (!isRecord(message) || !Array.isArray(message.content)) continue
    for (const part of message.content) {
      const type = isRecord(part) ? part.type : undefined
      if (type === 'input_audio' || type === 'audio_url') found.add('audio')
      if (type === 'image_url') found.add('image')
      if (type === 'video_url') found.add('video')
    }
  }
  return [...found]
}

function sloOf(headers: ReadonlyMap<string, string>, json: Json): number | undefined {
  const at = (of: unknown, key: string): unknown => (isRecord(of) ? of[key] : undefined)
  const first = Array.isArray(json.sampling_params_list) ? json.sampling_params_list[0] : undefined
  const candidates = [
    ...SLO_HEADERS.map((name) => headers.get(name)),
    json.slo_ms,
    at(json.additional_information, 'slo_ms'),
    at(json.extra_params, 'slo_ms'),
    at(at(first, 'extra_args'), 'slo_ms'),
  ]
  for (const candidate of candidates) {
    if (candidate === undefined || candidate === '') continue
    const ms = Number(candidate)
    if (ms > 0 && ms <= MOST_SLO_MS) return ms
  }
  return undefined
}

/** A session header, else the beginning of the first message where it is long enough to be shared. */
function sessionOf(headers: ReadonlyMap<string, string>, json: Json): string {
  const named = headers.get(SESSION_HEADER)
  if (named !== undefined && named !== '') return `s:${named.slice(0, 256)}`
  const message = Array.isArray(json.messages) ? json.messages[0] : undefined
  const text = isRecord(message) ? message.content : undefined
  if (typeof text !== 'string' || text.length < PREFIX_CHARS) return ''
  return `p:${text.slice(0, PREFIX_MOST)}`
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
