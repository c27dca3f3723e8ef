/**
 * @module
 * What a server says of itself: engine, version, models; and what it answers when asked for text, speech and images.
 */
import type { HttpProbeServer } from './http-server.js'
import { isAnswered, type ProbeServer, type ProbeShape } from './probe.js'

export interface ServerFacts {
  readonly engine: 'vllm-omni' | 'vllm' | 'sglang-omni' | 'unknown'
  readonly version: string | undefined
  readonly models: readonly string[]
  /** What told it, in words. */
  readonly evidence: readonly string[]
}

/** Reads `/v1/models`, `/version` and `/metrics`. undefined: nothing that is OpenAI-compatible answers. */
export async function readFacts(server: HttpProbeServer): Promise<ServerFacts | undefined> {
  const list = json(await server.get('/v1/models')) as { data?: unknown } | undefined
  if (!Array.isArray(list?.data)) return undefined
  const entries = list.data as { id?: unknown; owned_by?: unknown }[]
  const models = entries.map((of) => String(of.id))
  const owners = [...new Set(entries.map((of) => String(of.owned_by)))]
  const version = json(await server.get('/version')) as { version?: unknown } | undefined
  const metrics = (await server.get('/metrics')) ?? ''
  const evidence = [`/v1/models: ${models.join(', ')}, owned by ${owners.join(', ')}`]
  const says = (engine: ServerFacts['engine'], why: string): ServerFacts => ({
    engine,
    version: typeof version?.version === 'string' ? version.version : undefined,
    models,
    evidence: [...evidence, why],
  })
  if (metrics.includes('vllm_omni:')) return says('vllm-omni', '/metrics has names of vllm_omni')
  if (metrics.includes('vllm:')) return says('vllm', '/metrics has names of vllm')
  if (owners.some((of) => of.includes('sglang')))
    return says('sglang-omni', 'the models say so, and there are no names of vllm on /metrics')
  return says('unknown', '/metrics has no name that is known')
}

/** A class that can be asked for, by input and output modality as the simulator writes them. */
export interface ProbedClass {
  readonly name: string
  readonly base: ProbeShape
  /** What the ladder varies. */
  readonly varies: 'promptTokens' | 'audioSeconds' | 'images'
}

const PLAIN: ProbeShape = {
  output: 'text',
  promptTokens: 16,
  audioSeconds: 0,
  images: 0,
  answerTokens: 4,
}

const CANDIDATES: readonly ProbedClass[] = [
  { name: 't2t', base: { ...PLAIN, answerTokens: 8 }, varies: 'promptTokens' },
  { name: 'a2t', base: { ...PLAIN, audioSeconds: 2, answerTokens: 8 }, varies: 'audioSeconds' },
  { name: 'i2t', base: { ...PLAIN, images: 1, answerTokens: 8 }, varies: 'images' },
  { name: 't2a', base: { ...PLAIN, output: 'audio', answerTokens: 0 }, varies: 'promptTokens' },
  { name: 't2i', base: { ...PLAIN, output: 'image', answerTokens: 0 }, varies: 'promptTokens' },
]

/** Asks once for each; what is not answered with its kind of output is no class of the server. */
export async function probeClasses(
  server: ProbeServer,
  only?: readonly string[],
): Promise<ProbedClass[]> {
  const found: ProbedClass[] = []
  for (const of of CANDIDATES) {
    if (only !== undefined && !only.includes(of.name)) continue
    if (isAnswered(of.base.output, await server.probe(of.base))) found.push(of)
  }
  return found
}

export const CLASS_NAMES: readonly string[] = CANDIDATES.map((of) => of.name)

function json(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
