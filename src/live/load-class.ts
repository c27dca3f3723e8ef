/**
 * @module
 * A class of requests as it is sent to a server: endpoint, body, sizes of its inputs, and the SLO it is judged by. `load` reads them
 * from a file or from the server, the twin lists its own.
 */
import { z } from 'zod'
import { HorizonError } from '../core/index.js'

/** A number, or one drawn for every request: evenly between two, or lognormal by mean and coefficient of variation. */
const size = z.union([
  z.number().min(0),
  z
    .strictObject({ min: z.number().min(0), max: z.number().min(0) })
    .refine(({ min, max }) => min <= max, { message: 'min is above max' }),
  z.strictObject({ mean: z.number().positive(), cv: z.number().min(0).max(10) }),
])
export type Size = z.infer<typeof size>

export const ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/audio/speech',
  '/v1/images/generations',
] as const

export const loadClassSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/),
  endpoint: z.enum(ENDPOINTS).default('/v1/chat/completions'),
  /** Of the answer, for chat. */
  modalities: z
    .array(z.enum(['text', 'audio', 'image']))
    .min(1)
    .optional(),
  slo: z.strictObject({
    /** Time to first token, to the first sample of sound that is not silence, to the first byte of the body, or end to end. */
    metric: z.enum(['ttft', 'ttfa', 'ttfb', 'e2el']),
    ms: z.number().positive(),
  }),
  /** Share of the arrivals, relative to the other classes. */
  weight: z.number().min(0).default(1),
  /** Text of the prompt, tokens (of four characters). */
  promptTokens: size.default(64),
  /** Tokens to answer with: `max_tokens`. */
  answerTokens: size.optional(),
  /** Spoken input, seconds. */
  audioSeconds: size.default(0),
  images: size.default(0),
  /** Side of a picture sent, pixels. */
  imagePixels: z.number().int().min(8).max(4096).default(256),
  stream: z.boolean().default(true),
  /** Speech: raw bytes, or server-sent events. */
  speechStream: z.enum(['raw', 'sse']).default('raw'),
  /** Merged into every body. */
  body: z.record(z.string(), z.unknown()).default({}),
})

/** A class as written; what is left out has a default. */
export type LoadClassInput = z.input<typeof loadClassSchema>
export type LoadClass = z.output<typeof loadClassSchema>

/** Reads a list of classes, or an object with one under `classes`. Throws `ERR_LIVE_CLASSES` naming the field. */
export function parseLoadClasses(value: unknown, name: string): LoadClass[] {
  const list =
    typeof value === 'object' && value !== null && 'classes' in value
      ? (value as { classes: unknown }).classes
      : value
  const result = z.array(loadClassSchema).min(1).max(64).safeParse(list)
  const issue = result.error?.issues[0]
  if (!result.success) {
    throw new HorizonError('ERR_LIVE_CLASSES', issue?.message ?? 'not a list of classes', {
      field: [name, ...(issue?.path ?? [])].join('.'),
      hint: 'GET /horizonserve/classes of a twin shows one',
    })
  }
  const twice = result.data.find((of, i) => result.data.findIndex((o) => o.name === of.name) !== i)
  if (twice !== undefined) {
    throw new HorizonError('ERR_LIVE_CLASSES', 'the name is taken', {
      field: `${name}.${twice.name}`,
    })
  }
  if (result.data.every((of) => of.weight === 0)) {
    throw new HorizonError('ERR_LIVE_CLASSES', 'all weights are 0', { field: name })
  }
  return result.data
}
