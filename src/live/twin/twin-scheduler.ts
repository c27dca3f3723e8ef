/**
 * @module
 * The scheduler in the twin's loop: a policy by name on the twin's own calibration, or a configuration as an operator would run it.
 */

import type { HorizonConfig } from '../../config.js'
import {
  createScheduler,
  HorizonError,
  type Scheduler,
  type SchedulerOptions,
} from '../../core/index.js'
import { requestProfiler } from '../../policies/index.js'
import { type Calibration, policyCases, type SharingMode } from '../../sim/index.js'
import type { TwinSpec } from './twin-spec.js'

export interface TwinScheduler {
  readonly horizon: Scheduler
  readonly policy: string
  readonly sharing: SharingMode
  /** The scheduler's name for each class of the spec. */
  readonly classNames: readonly string[]
  readonly sloMs: readonly number[]
}

/** A policy of `simulate`, on what the calibration knows. */
export function schedulerByPolicy(
  spec: TwinSpec,
  calibration: Calibration,
  policy: string,
  rows: number,
  sheds = false,
): TwinScheduler {
  const [of] = policyCases([policy])
  if (of === undefined) throw new HorizonError('ERR_LIVE_POLICY', 'unknown policy', { got: policy })
  const horizon = createScheduler({
    classes: calibration.classes.map(({ name, path, sloMs, priority }) => ({
      name,
      path,
      sloMs,
      priority,
    })),
    profiler: requestProfiler(calibration.classes),
    policy: sheds
      ? { ...of.policy(calibration, spec.omni), sheds }
      : of.policy(calibration, spec.omni),
    ladder: calibration.ladder,
    estimates: { downstreamConcurrency: spec.omni.downstream.slots },
    capacity: { maxRequests: rows },
  })
  return {
    horizon,
    policy: of.name,
    sharing: of.sharing,
    classNames: spec.classes.map((one) => one.name),
    sloMs: spec.classes.map(
      (one) => calibration.classes.find(({ name }) => name === one.name)?.sloMs ?? Number.NaN,
    ),
  }
}

/** A configuration: its classes, SLOs, profiles and policy. `options` is what `parseConfig` made of it. */
export function schedulerByConfig(
  spec: TwinSpec,
  config: HorizonConfig,
  options: SchedulerOptions,
  rows: number,
): TwinScheduler {
  const horizon = createScheduler({ ...options, capacity: { maxRequests: rows } })
  const entries = Object.entries(config.classes)
  const classNames = spec.classes.map((of) => {
    const sameOutput = entries.filter(([, { output }]) => output === of.output)
    const found =
      sameOutput.find(([name]) => name === of.name) ??
      sameOutput.find(([, { inputs }]) => inputs?.some((input) => of.inputs.includes(input))) ??
      sameOutput.find(([, { inputs }]) => inputs === undefined)
    if (found !== undefined) return found[0]
    throw new HorizonError(
      'ERR_LIVE_CONFIG',
      'the configuration has no class for what the twin serves',
      {
        field: 'classes',
        expected: `one with output ${of.output}${of.inputs.length === 1 ? ` and input ${of.inputs[0]}` : ''}`,
        got: entries.map(([name]) => name).join(', '),
      },
    )
  })
  return {
    horizon,
    policy: options.policy.name,
    sharing: options.ladder === undefined ? 'mps' : 'green-contexts',
    classNames,
    sloMs: classNames.map((name) => horizon.classes.sloMs[horizon.classes.indexOf(name)] as number),
  }
}
