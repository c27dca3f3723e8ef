/**
 * @module
 * Configuration: a plain object, checked once here, becomes core records. After this there are no optional fields and no defaults.
 */

import type { ClassConfig, HorizonConfig } from './config-fields.js'
import { type CheckedConfig, checkForm } from './config-form.js'
import { doubles } from './core/columns.js'
import { HorizonError } from './core/errors.js'
import type { Actuator, Policy, PressureSource } from './core/ports.js'
import { INPUT, WORK } from './core/ports.js'
import type { ClassSpec } from './core/request-class.js'
import type { SchedulerOptions } from './core/scheduler-options.js'
import { fixedCap } from './policies/fixed-cap.js'
import { edf, fcfs, strictPriority } from './policies/orders.js'
import {
  type HorizonPolicyOptions,
  horizonPolicy,
  literalPolicy,
  placesPolicy,
} from './policies/presets.js'
import { requestProfiler, type StageProfile } from './policies/request-profiler.js'
import { DEFAULT_U_GUARD } from './policies/slack-guard.js'

export type { ClassConfig, HorizonConfig } from './config-fields.js'
export { horizonConfigSchema } from './config-form.js'

/** What a configuration cannot say: live objects. */
export interface HorizonParts {
  readonly actuator?: Actuator
  readonly pressureSource?: PressureSource
  /** Another policy than the one that the configuration describes. */
  readonly policy?: Policy
}

const DEFAULT_PRIORITY = { text: 0, audio: 10, image: 20, video: 30 } as const

/**
 * Checks a configuration and turns it into what `createScheduler` takes.
 * Throws `ERR_CONFIG_INVALID` with the path of the first wrong field, what was expected and what was got.
 */
export function parseConfig<Name extends string>(
  config: HorizonConfig<Name>,
  parts: HorizonParts = {},
): SchedulerOptions<Name> {
  const checked = checkForm(config)
  const names = Object.keys(checked.classes) as Name[]
  for (const name of names) {
    if (!Object.hasOwn(checked.profile, name))
      throw invalid(`profile.${name}`, 'a stage profile for every class', undefined)
  }
  for (const name of Object.keys(checked.profile)) {
    if (!names.includes(name as Name))
      throw invalid(`profile.${name}`, `one of the classes: ${names.join(', ')}`, name)
  }
  const classes = names.map((name) => classSpec(name, checked.classes[name]! as ClassConfig))
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

function classSpec<Name extends string>(name: Name, config: ClassConfig): ClassSpec<Name> {
  return {
    name,
    path: config.path ?? (config.output === 'text' ? 'short' : 'long'),
    sloMs: config.sloMs ?? config.soloP95Ms! * (config.sloMultiplier ?? 5),
    priority: config.priority ?? DEFAULT_PRIORITY[config.output],
  }
}

function policyOf(config: CheckedConfig): Policy {
  const orders = { arrival: fcfs, deadline: edf, priority: strictPriority }
  const cap = config.longPathCap
  const { fixedCapSms, slots, slotReserve: reserve, downstreamPlaces } = config
  const triages = config.triage ?? config.preset !== 'literal'
  if (fixedCapSms !== undefined && !(config.ladder?.levels.includes(fixedCapSms) ?? false)) {
    throw invalid('fixedCapSms', 'one of ladder.levels', fixedCapSms)
  }
  const options = {
    ...present({
      uGuard: config.uGuard,
      rotation: config.rotation,
      longPathCap:
        cap === false ? false : { cap, counts: config.capCounts, protected: config.capProtected },
      sheds: config.sheds,
      lateness: config.lateness,
      triage: config.triage,
      // Without triage no request is lost: slots alone then change nothing, and a reserve that is asked for is refused.
      slotReserve: (reserve ?? (slots && triages)) && { slots, reserve },
      throttle: config.throttle,
      workConserving: config.workConserving,
    }),
    order: config.order && orders[config.order],
    cap: fixedCapSms && (() => fixedCap({ sms: fixedCapSms })),
  } as HorizonPolicyOptions
  if (config.preset === 'literal') return literalPolicy(options)
  if (downstreamPlaces === undefined) return horizonPolicy(options)
  // The places of one stage alone would leave the cap without a reason.
  if (slots === undefined || !triages || reserve === false)
    throw invalid('downstreamPlaces', 'beside slots, with triage and a reserve', downstreamPlaces)
  const { longPathCap: _own, slotReserve: _kept, ...rest } = options
  return placesPolicy({ ...rest, slots, downstreamPlaces, reserve })
}

/** A copy of plain data without what is undefined, so that a part's own defaults hold. */
function present<Data extends object>(data: Data): Data {
  return JSON.parse(JSON.stringify(data)) as Data
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
      'the guard reaches the whole SLO: requests would be protected from their arrival',
      {
        field: 'uGuard',
        expected: `less than SLO over solo time of class ${spec.name} (${spec.sloMs} ms / ${soloMs.toFixed(1)} ms = ${(spec.sloMs / soloMs).toFixed(2)})`,
        got: uGuard,
      },
    )
  }
}

function invalid(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_CONFIG_INVALID', 'invalid configuration', { field, expected, got })
}
