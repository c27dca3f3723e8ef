/**
 * @module
 * What a twin stands for: a GPU and a model as the simulator knows them, or the small built-in ones, with numbers overridden by path,
 * and what the wire shows of it.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/index.js'
import {
  GPUS,
  type GpuName,
  MODELS,
  type ModelName,
  modalityClass,
  type OmniSpec,
  omniSpec,
} from '../../sim/index.js'
import { HAND_OVERS } from '../../sim/omni/parameters.js'
import { SMALL_IMAGE, SMALL_OMNI } from './small-spec.js'

export type TwinInput = 'text' | 'audio' | 'image' | 'video'

/** A class of requests as the twin serves it. */
export interface TwinClass {
  readonly name: string
  readonly output: 'text' | 'audio' | 'image'
  readonly inputs: readonly TwinInput[]
  /** As the simulator writes it: `t2a`. */
  readonly modality: string
}

export interface TwinSpec {
  readonly name: string
  /** The shared stage, inputs, and the downstream stage. */
  readonly omni: OmniSpec
  /** A second downstream stage, for a model that makes images beside speech. */
  readonly image: OmniSpec['downstream'] | undefined
  readonly classes: readonly TwinClass[]
  /** Silence at the start of every speech, ms of sound. */
  readonly silenceMs: number
  /** Whether the text of a spoken answer is streamed while it is decoded. */
  readonly textBeforeAudio: boolean
  /** SLO over the p95 of the first response alone. */
  readonly sloMultiplier: number
}

const names = <T extends object>(of: T): [keyof T & string, ...(keyof T & string)[]] =>
  Object.keys(of) as [keyof T & string, ...(keyof T & string)[]]

const schema = z
  .strictObject({
    /** `small`, or a model of the simulator. */
    base: z.enum(['small', ...names(MODELS)]),
    /** With a model of the simulator. */
    gpu: z.enum(names(GPUS)),
    /** Numbers by path: `shared.slots`, `downstream.hostMsPerUnit`, `image.slots`, … */
    set: z.record(z.string(), z.number().min(0)),
    /** The name the server gives its model. */
    name: z.string().min(1).max(200),
    /** Whether a long-path request keeps its shared-stage place until the next stage takes it, or is done. */
    handOver: z.enum(HAND_OVERS),
    silenceMs: z.number().min(0).max(60_000),
    textBeforeAudio: z.boolean(),
    sloMultiplier: z.number().positive(),
  })
  .partial()

/** A twin's spec as a user writes it; every field may be left out. */
export type TwinSpecInput = z.input<typeof schema>

/** Throws `ERR_LIVE_SPEC` naming the field, or `ERR_SIM_PARAMETER` for a path that a model of the simulator lacks. */
export function twinSpec(input: unknown = {}): TwinSpec {
  const result = schema.safeParse(input)
  if (!result.success) {
    const issue = result.error.issues[0]
    throw new HorizonError('ERR_LIVE_SPEC', issue?.message ?? 'not a spec of a twin', {
      field: issue?.path.join('.') || 'spec',
    })
  }
  const { base = 'small', gpu = 'rtx-6000-ada', set = {}, ...rest } = result.data
  const held = (omni: OmniSpec): OmniSpec =>
    rest.handOver === undefined
      ? omni
      : { ...omni, handOver: { ...omni.handOver, mechanism: rest.handOver } }
  const wire = {
    silenceMs: rest.silenceMs ?? 0,
    textBeforeAudio: rest.textBeforeAudio ?? true,
    sloMultiplier: rest.sloMultiplier ?? 5,
  }
  if (base !== 'small') {
    const omni = held(omniSpec(gpu as GpuName, base as ModelName, set))
    return {
      name: rest.name ?? `${base}-twin`,
      omni,
      image: undefined,
      classes: omni.classes.map(({ name, input: from, output }) => ({
        name,
        output,
        inputs: [from],
        modality: name,
      })),
      ...wire,
    }
  }
  const copy = { ...structuredClone(SMALL_OMNI), image: { ...SMALL_IMAGE } }
  for (const [path, value] of Object.entries(set)) override(copy, path, value)
  const { image, ...omni } = copy
  const every: readonly TwinInput[] = ['text', 'audio', 'image', 'video']
  return {
    name: rest.name ?? 'horizonserve-twin',
    omni: held({
      ...omni,
      classes: omni.classes.map((of) => modalityClass(of.name)),
      overrides: set,
    }),
    image,
    classes: [
      { name: 'text', output: 'text', inputs: every, modality: 't2t' },
      { name: 'speech', output: 'audio', inputs: every, modality: 't2a' },
      { name: 'image', output: 'image', inputs: every, modality: 't2i' },
    ],
    ...wire,
  }
}

/** Numbers that count places or tokens. */
const WHOLE = new Set(['slots', 'tokenBudget', 'kvCapacityTokens', 'totalSms'])

function override(spec: object, path: string, value: number): void {
  const keys = path.split('.')
  const last = keys.pop() as string
  let node: unknown = spec
  for (const key of keys) {
    node =
      typeof node === 'object' && node !== null && Object.hasOwn(node, key)
        ? (node as Record<string, unknown>)[key]
        : undefined
  }
  const held =
    typeof node === 'object' && node !== null && Object.hasOwn(node, last)
      ? (node as Record<string, unknown>)[last]
      : undefined
  if (typeof held !== 'number') {
    throw new HorizonError('ERR_LIVE_SPEC', 'no such number in the spec of the twin', {
      field: `set.${path}`,
      expected: 'such as shared.slots, shared.hostMs, downstream.hostMsPerUnit, image.slots',
    })
  }
  if (WHOLE.has(last) && (!Number.isInteger(value) || value < 1)) {
    throw new HorizonError('ERR_LIVE_SPEC', 'impossible value', {
      field: `set.${path}`,
      expected: 'a whole number of at least 1',
      got: value,
    })
  }
  ;(node as Record<string, unknown>)[last] = value
}
