/**
 * @module
 * Configuration: a plain object, checked once here, becomes core records. After this there are no optional fields and no defaults.
 * Environment overrides follow the paper (section 5): thresholds can be recalibrated without touching the file.
 */

import { z } from 'zod'
import { doubles } from './core/columns.js'
import { HorizonError } from './core/errors.js'
import type { Actuator, Policy, PressureSource } from './core/ports.js'
import { INPUT, WORK } from './core/ports.js'
import type { ClassSpec } from './core/request-class.js'
import type { SchedulerOptions } from './core/scheduler-options.js'
import { fixedCap } from './policies/fixed-cap.js'
import { edf, fcfs, strictPriority } from './policies/orders.js'
import { type HorizonPolicyOptions, horizonPolicy, literalPolicy } from './policies/presets.js'
import { requestProfiler, type StageProfile } from './policies/request-profiler.js'
import { DEFAULT_U_GUARD } from './policies/slack-guard.js'

const positive = z.number().positive()
const atLeast0 = z.number().min(0)
const integerFrom1 = z.int().min(1)
const share = atLeast0.max(1)
const shareAbove0 = positive.max(1)
const count = integerFrom1.max(1_000_000)

/** A record of which every field may be left out. */
function options<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape).partial()
}

/** A part of the policy that `false` leaves out. */
function orFalse<Part extends z.ZodType>(part: Part) {
  return z.union([z.literal(false), part])
}

const curve = z.array(z.tuple([atLeast0, atLeast0])).min(1)
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
    output: z.enum(['text', 'audio', 'image']),
    ...options({
      inputs: z.array(z.enum(['text', 'audio', 'image', 'video'])).min(1),
      path: z.enum(['short', 'long']),
      sloMs: positive,
      soloP95Ms: positive,
      sloMultiplier: positive,
      priority: z.number(),
    }).shape,
  })
  .refine((value) => (value.sloMs === undefined) !== (value.soloP95Ms === undefined), {
    message: 'give either sloMs or soloP95Ms',
  })

const className = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/,
    'a class name starts with a letter and has letters, digits, "_", "-" or "."',
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
      levels: z.array(integerFrom1).min(1).max(64),
      aggressiveSms: integerFrom1.optional(),
    }),
    uGuard: atLeast0.max(1000),
    rotation: orFalse(
      options({
        m: count,
        nMin: z.int().min(0).max(1_000_000),
        nMax: count,
        update: z.enum(['cycle', 'step']),
      }),
    ),
    longPathCap: orFalse(count),
    capCounts: z.enum(['prefill', 'shared-stage']),
    triage: orFalse(options({ uLost: positive, shareFloor: share })),
    slots: integerFrom1,
    slotReserve: orFalse(options({ reserve: z.int().min(0), holdSteps: z.number().min(1) })),
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
        device: z.union([z.int().min(0), z.string()]),
        everyMs: z.number().min(20).max(10_000),
      }),
    ),
    order: z.enum(['arrival', 'deadline', 'priority']),
    workConserving: z.boolean(),
    estimates: options({
      slowdownGain: share,
      maxSlowdown: z.number().min(1),
      downstreamConcurrency: count,
    }),
    capacity: options({
      initialRequests: z.int().min(0),
      maxRequests: integerFrom1.max(1 << 24),
    }),
  }).shape,
})

type ConfigInput = z.input<typeof horizonConfigSchema>
type ClassConfig = z.infer<typeof requestClass>

/** What `createHorizon` takes: class names are inferred from `classes`. */
export interface HorizonConfig<Name extends string = string>
  extends Omit<ConfigInput, 'classes' | 'profile'> {
  readonly classes: Readonly<Record<Name, ClassConfig>>
  readonly profile: Readonly<Record<Name, StageProfile>>
}

/** What a configuration cannot say: live objects. */
export interface HorizonParts {
  readonly actuator?: Actuator
  readonly pressureSource?: PressureSource
  /** Another policy than the one that the configuration describes. */
  readonly policy?: Policy
}

const DEFAULT_PRIORITY = { text: 0, audio: 10, image: 20 } as const

/**
 * Checks a configuration and turns it into what `createScheduler` takes.
 * Throws `ERR_CONFIG_INVALID` with the path of the first wrong field, what was expected and what was got.
 */
export function parseConfig<Name extends string>(
  config: HorizonConfig<Name>,
  parts: HorizonParts = {},
): SchedulerOptions<Name> {
  const checked = check(config)
  const names = Object.keys(checked.classes) as Name[]
  for (const name of names) {
    if (!Object.hasOwn(checked.profile, name))
      throw invalid(`profile.${name}`, 'a stage profile for every class', undefined)
  }
  for (const name of Object.keys(checked.profile)) {
    if (!names.includes(name as Name))
      throw invalid(`profile.${name}`, `one of the classes: ${names.join(', ')}`, name)
  }
  const classes = names.map((name) => classSpec(name, checked.classes[name]!))
  for (const spec of classes) {
    if (spec.path === 'long' && checked.profile[spec.name]!.downstream === undefined) {
      throw invalid(
        `profile.${spec.name}.downstream`,
        'the downstream time of a long-path class',
        undefined,
      )
    }
  }
  const profiler = requestProfiler(
    names.map((name) => ({ name, profile: checked.profile[name]! as StageProfile })),
  )
  const policy = parts.policy ?? policyOf(checked)
  checkGuard(classes, profiler, policy.urgency.uGuard)
  return {
    classes,
    profiler,
    policy,
    ladder: checked.ladder,
    estimates: checked.estimates,
    capacity: checked.capacity,
    actuator: parts.actuator,
    pressureSource: parts.pressureSource,
  } as SchedulerOptions<Name>
}

/**
 * A copy of the configuration with overrides from an environment: `HORIZON_SLO_MS_<CLASS>` (class name in upper case, other characters
 * than letters and digits as `_`), `HORIZON_U_GUARD`, `HORIZON_LONG_PATH_CAP`, `HORIZON_PRESET`.
 * Throws `ERR_CONFIG_ENVIRONMENT` for a value that is no number or a class that is not there.
 */
export function applyEnvironment<Name extends string>(
  config: HorizonConfig<Name>,
  environment: Readonly<Record<string, string | undefined>>,
): HorizonConfig<Name> {
  const classes: Record<string, ClassConfig> = { ...config.classes }
  const changes: Record<string, unknown> = {}
  const names = new Map<string, string[]>()
  for (const name of Object.keys(classes)) {
    const key = name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
    names.set(key, [...(names.get(key) ?? []), name])
  }
  for (const [key, text] of Object.entries(environment)) {
    if (text === undefined) continue
    if (key.startsWith('HORIZON_SLO_MS_')) {
      const named = names.get(key.slice('HORIZON_SLO_MS_'.length)) ?? []
      const name = named[0]
      if (name === undefined)
        throw environmentError(key, `a class: ${[...names.keys()].join(', ')}`, text)
      if (named.length > 1)
        throw environmentError(key, `a name that means one class, not ${named.join(', ')}`, text)
      // What is no record of a class is for the schema to refuse.
      if (typeof classes[name] !== 'object' || classes[name] === null) continue
      const { soloP95Ms: _solo, sloMultiplier: _multiplier, ...rest } = classes[name]!
      classes[name] = { ...rest, sloMs: numberFrom(key, text) }
    } else if (key === 'HORIZON_U_GUARD') changes.uGuard = numberFrom(key, text)
    else if (key === 'HORIZON_LONG_PATH_CAP') changes.longPathCap = numberFrom(key, text)
    else if (key === 'HORIZON_PRESET') changes.preset = text
  }
  return { ...config, ...changes, classes: classes as Record<Name, ClassConfig> }
}

function check(config: unknown): z.infer<typeof horizonConfigSchema> {
  const result = horizonConfigSchema.safeParse(config)
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

function classSpec<Name extends string>(name: Name, config: ClassConfig): ClassSpec<Name> {
  return {
    name,
    path: config.path ?? (config.output === 'text' ? 'short' : 'long'),
    sloMs: config.sloMs ?? config.soloP95Ms! * (config.sloMultiplier ?? 5),
    priority: config.priority ?? DEFAULT_PRIORITY[config.output],
  }
}

function policyOf(config: z.infer<typeof horizonConfigSchema>): Policy {
  const orders = { arrival: fcfs, deadline: edf, priority: strictPriority }
  const cap = config.longPathCap
  const { fixedCapSms, slots, slotReserve: reserve } = config
  const losesNone = (config.triage ?? config.preset !== 'literal') === false
  if (fixedCapSms !== undefined && !(config.ladder?.levels.includes(fixedCapSms) ?? false)) {
    throw invalid('fixedCapSms', 'one of ladder.levels', fixedCapSms)
  }
  if (reserve && slots === undefined) throw invalid('slots', 'given with slotReserve', slots)
  const options = {
    uGuard: config.uGuard,
    rotation: config.rotation,
    longPathCap: cap === false ? false : { cap, counts: config.capCounts },
    triage: config.triage,
    // Without triage no request is lost: slots alone then change nothing, and a reserve that was asked for is refused.
    slotReserve:
      slots === undefined || reserve === false || (losesNone && !reserve)
        ? false
        : { slots, ...reserve },
    throttle: config.throttle,
    order: config.order === undefined ? undefined : orders[config.order],
    workConserving: config.workConserving,
    cap: fixedCapSms === undefined ? undefined : () => fixedCap({ sms: fixedCapSms }),
  }
  const given = withoutUndefined(options) as HorizonPolicyOptions
  return config.preset === 'literal' ? literalPolicy(given) : horizonPolicy(given)
}

/** Drops absent options at both levels, so that a part's own defaults hold. */
function withoutUndefined(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue
    const isPlain =
      typeof value === 'object' &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype &&
      !Object.isFrozen(value)
    kept[key] = isPlain ? withoutUndefined(value as Record<string, unknown>) : value
  }
  return kept
}

/** A guard that reaches a class's SLO would protect every request of it from the start, and the guard would say nothing. */
function checkGuard(
  classes: readonly ClassSpec[],
  profiler: SchedulerOptions['profiler'],
  uGuard: number = DEFAULT_U_GUARD,
): void {
  const inputs = doubles(4)
  inputs[INPUT.promptTokens] = 1
  const out = doubles(3)
  for (const [c, spec] of classes.entries()) {
    profiler.annotate(c, inputs, out)
    const soloMs = out[WORK.shared]! + out[WORK.downstream]!
    if (uGuard * soloMs < spec.sloMs) continue
    throw new HorizonError(
      'ERR_CONFIG_GUARD',
      'the guard reaches the whole SLO: every request of the class would be protected from its arrival',
      {
        field: 'uGuard',
        expected: `less than SLO over solo time of class ${spec.name} (${spec.sloMs} ms / ${soloMs.toFixed(1)} ms = ${(spec.sloMs / soloMs).toFixed(2)})`,
        got: uGuard,
      },
    )
  }
}

function numberFrom(key: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw environmentError(key, 'a number', text)
  return value
}

function environmentError(key: string, expected: string, got: string): HorizonError {
  return new HorizonError('ERR_CONFIG_ENVIRONMENT', 'impossible override', {
    field: key,
    expected,
    got,
  })
}

function invalid(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_CONFIG_INVALID', 'invalid configuration', { field, expected, got })
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
