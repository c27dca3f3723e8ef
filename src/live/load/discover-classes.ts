/**
 * @module
 * What a server can be sent when nobody says: its own list where it has one (a twin), else text, with speech and images where the
 * server shows that it makes them.
 */
import { HorizonError, isHorizonError } from '../../core/index.js'
import { type LoadClass, loadClassSchema, parseLoadClasses } from '../load-class.js'
import { monotonicMs } from '../monotonic.js'

export interface Discovered {
  readonly classes: readonly LoadClass[]
  readonly model: string | undefined
  /** How they were found, in words. */
  readonly how: string
}

interface ModelList {
  readonly data?: readonly { readonly id?: unknown }[]
}

const PATIENCE_MS = 10_000
const RETRY_MS = 200

/** Throws `ERR_LIVE_SERVER_UNAVAILABLE` when nobody answers, not even after `waitMs`. */
export async function discoverClasses(url: string, key?: string, waitMs = 0): Promise<Discovered> {
  const untilMs = monotonicMs() + waitMs
  for (;;) {
    try {
      return await ask(url, key)
    } catch (error) {
      const isAbsent = isHorizonError(error) && error.code === 'ERR_LIVE_SERVER_UNAVAILABLE'
      if (!isAbsent || monotonicMs() >= untilMs) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

async function ask(url: string, key: string | undefined): Promise<Discovered> {
  const headers: Record<string, string> =
    key === undefined ? {} : { authorization: `Bearer ${key}` }
  const get = (path: string): Promise<Response> =>
    fetch(new URL(path, url), { headers, signal: AbortSignal.timeout(PATIENCE_MS) })
  let model: string | undefined
  try {
    const response = await get('/v1/models')
    if (response.status === 401) {
      throw new HorizonError('ERR_LIVE_SERVER', 'the server asks for a key', {
        field: url,
        hint: 'Pass --key-file',
      })
    }
    // A server without this route is one all the same: it is asked without a model's name.
    const listed = (await response.json().catch(() => null)) as ModelList | null
    const id = listed?.data?.[0]?.id
    if (typeof id === 'string') model = id
  } catch (cause) {
    if (cause instanceof HorizonError) throw cause
    throw new HorizonError('ERR_LIVE_SERVER_UNAVAILABLE', 'no server answers', {
      field: new URL('/v1/models', url).href,
      got:
        cause instanceof Error
          ? ((cause.cause as Error | undefined)?.message ?? cause.message)
          : cause,
      cause,
    })
  }
  const own = await get('/horizonserve/classes')
  if (own.ok) {
    return {
      classes: parseLoadClasses(await own.json(), '/horizonserve/classes'),
      model,
      how: 'the server lists its classes',
    }
  }
  await own.arrayBuffer()
  const page = await get('/metrics').then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  )
  const makes = {
    audio: page.includes('vllm_omni:audio_'),
    image: page.includes('vllm_omni:image_count_total') && page.includes('stage_type="diffusion"'),
  }
  const classes = [
    { name: 'text', weight: 0.7, slo: { metric: 'ttft', ms: 1000 }, answerTokens: 64 },
    ...(makes.audio
      ? [
          {
            name: 'speech',
            weight: 0.3,
            modalities: ['text', 'audio'],
            slo: { metric: 'ttfa', ms: 5000 },
          },
        ]
      : []),
    ...(makes.image
      ? [
          {
            name: 'image',
            weight: 0.1,
            endpoint: '/v1/images/generations',
            slo: { metric: 'e2el', ms: 30_000 },
          },
        ]
      : []),
  ].map((of) => loadClassSchema.parse(of))
  const names = classes.map((of) => of.name).join(', ')
  return {
    classes,
    model,
    how: `its metrics show ${names}; SLOs are guesses: give your own with --classes`,
  }
}
