/**
 * @module
 * The form of a configuration: its fields and what each may hold. What they mean stands with the JSON Schema, in `config-schema.ts`.
 */

import * as z from 'zod/mini'
import englishTexts from 'zod/v4/locales/en.js'
import { HorizonError } from './core/errors.js'

const positive = z.number().check(z.positive())
const atLeast0 = z.number().check(z.minimum(0))
const integerFrom1 = z.int().check(z.minimum(1))
const share = atLeast0.check(z.maximum(1))
const shareAbove0 = positive.check(z.maximum(1))
const count = integerFrom1.check(z.maximum(1_000_000))

/** A record of which every field may be left out. */
function options<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.partial(z.strictObject(shape))
}

/** A part of the policy that `false` leaves out. */
function orFalse<Part extends z.ZodMiniType>(part: Part) {
  return z.union([z.literal(false), part])
}

const curve = z.array(z.tuple([atLeast0, atLeast0])).check(z.minLength(1))
const stageCost = options({
  fixedMs: atLeast0,
  promptTokens: curve,
  audioSeconds: curve,
  images: curve,
  videos: curve,
})

const stageProfile = z.strictObject({
  shared: stageCost,
  ...options({
    downstream: stageCost,
    downstreamBusy: stageCost,
    decodeTokens: atLeast0,
    decodeMsPerToken: atLeast0,
  }).shape,
})

const requestClass = z
  .strictObject({
    output: z.enum(['text', 'audio', 'image', 'video']),
    ...options({
      inputs: z.array(z.enum(['text', 'audio', 'image', 'video'])).check(z.minLength(1)),
      path: z.enum(['short', 'long']),
      sloMs: positive,
      soloP95Ms: positive,
      sloMultiplier: positive,
      priority: z.number(),
    }).shape,
  })
  .check(
    z.refine((value) => (value.sloMs === undefined) !== (value.soloP95Ms === undefined), {
      message: 'give either sloMs or soloP95Ms',
    }),
  )

const className = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/,
      'a class name starts with a letter and has letters, digits, "_", "-" or "."',
    ),
  )

/**
 * The configuration as a user writes it. Every field but `classes` and `profile` has a default. What the fields mean stands with the
 * JSON Schema, in `config-schema.ts`.
 */
export const horizonConfigSchema = z.strictObject({
  classes: z.record(className, requestClass),
  profile: z.record(className, stageProfile),
  ...options({
    preset: z.enum(['default', 'literal']),
    ladder: z.strictObject({
      totalSms: integerFrom1,
      levels: z.array(integerFrom1).check(z.minLength(1), z.maxLength(64)),
      aggressiveSms: z.optional(integerFrom1),
    }),
    uGuard: atLeast0.check(z.maximum(1000)),
    rotation: orFalse(
      options({
        m: count,
        nMin: z.int().check(z.minimum(0), z.maximum(1_000_000)),
        nMax: count,
        update: z.enum(['cycle', 'step']),
      }),
    ),
    longPathCap: orFalse(count),
    capCounts: z.enum(['prefill', 'shared-stage', 'in-flight']),
    capProtected: z.enum(['exempt', 'until-overdue', 'limited']),
    sheds: z.boolean(),
    triage: orFalse(options({ uLost: positive, shareFloor: share })),
    slots: integerFrom1.check(z.maximum(1 << 24)),
    downstreamPlaces: integerFrom1,
    lateness: orFalse(options({ boundMs: positive })),
    slotReserve: orFalse(count),
    throttle: orFalse(
      options({
        gamma: shareAbove0,
        saturation: shareAbove0,
        deltaStep: integerFrom1,
        smoothing: z.enum(['per-sample', 'per-step']),
      }),
    ),
    fixedCapSms: integerFrom1,
    pressure: orFalse(
      options({
        source: z.enum(['auto', 'nvml-samples', 'nvml-utilization', 'gpm-dram-bandwidth']),
        device: z.union([z.int().check(z.minimum(0)), z.string()]),
        everyMs: z.number().check(z.minimum(20), z.maximum(10_000)),
      }),
    ),
    order: z.enum(['arrival', 'deadline', 'priority']),
    workConserving: z.boolean(),
    estimates: options({
      slowdownGain: share,
      maxSlowdown: z.number().check(z.minimum(1)),
      downstreamConcurrency: count,
    }),
    capacity: options({
      initialRequests: z.int().check(z.minimum(0)),
      maxRequests: integerFrom1.check(z.maximum(1 << 24)),
    }),
  }).shape,
})

/** A configuration in the right form. */
export type CheckedConfig = z.output<typeof horizonConfigSchema>

/** What a message says where a check of ours does not: the package brings no texts of its own. */
const texts = { error: englishTexts().localeError }

/** Throws `ERR_CONFIG_INVALID` with the path of the first wrong field, what was expected and what was got. */
export function checkForm(config: unknown): CheckedConfig {
  const result = horizonConfigSchema.safeParse(config, texts)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path
  throw new HorizonError(
    'ERR_CONFIG_INVALID',
    issue.code === 'unrecognized_keys' ? 'unknown field' : issue.message,
    {
      field: fieldName(path),
      got: valueAt(config, path),
    },
  )
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.length === 0
    ? 'configuration'
    : path
        .map((key, i) =>
          typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`,
        )
        .join('')
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at: unknown = value
  for (const key of path)
    at =
      typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined
  return at
}
