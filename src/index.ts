/**
 * @module
 * The embeddable API: the scheduler from a configuration, the core and the policies to compose one by hand. Loads no native code and no
 * Node built-in.
 */
import { type HorizonConfig, type HorizonParts, parseConfig } from './config.js'
import { createScheduler, type Scheduler } from './core/scheduler.js'

export {
  type WrapOptions,
  type WrappableScheduler,
  type WrappedScheduler,
  wrap,
} from './adapters/in-process.js'
export {
  type ClassConfig,
  type HorizonConfig,
  type HorizonParts,
  horizonConfigSchema,
  parseConfig,
} from './config.js'
export type { Decision } from './core/decision.js'
export { type ErrorCode, type ErrorDetails, HorizonError, isHorizonError } from './core/errors.js'
export type { RequestName, SchedulerEvents } from './core/events.js'
export type { Groups } from './core/groups.js'
export { createLadder, type Ladder, type LadderSpec } from './core/ladder.js'
export type { ClassMetrics, Metrics } from './core/metrics.js'
export type {
  Actuator,
  BaseScheduler,
  CapController,
  Order,
  Policy,
  PressureSample,
  PressureSource,
  Profiler,
  UrgencyRule,
  ViewFilter,
} from './core/ports.js'
export { type ClassSpec, LONG, SHORT } from './core/request-class.js'
export { LOST, ORDINARY, PROTECTED } from './core/request-table.js'
export { createScheduler, type Scheduler } from './core/scheduler.js'
export type {
  ArrivingRequest,
  PressureReading,
  SchedulerOptions,
} from './core/scheduler-options.js'
export type { Signals } from './core/signals.js'
export type { View } from './core/view.js'
export { fixedCap } from './policies/fixed-cap.js'
export { longPathCap } from './policies/long-path-cap.js'
export { noCap } from './policies/no-cap.js'
export { edf, fcfs, strictPriority } from './policies/orders.js'
export { pathRotation } from './policies/path-rotation.js'
export {
  edfPolicy,
  feasibleEdfPolicy,
  type HorizonPolicyOptions,
  horizonPolicy,
  literalPolicy,
  strictPriorityPolicy,
  vanillaPolicy,
} from './policies/presets.js'
export { requestProfiler, type StageCost, type StageProfile } from './policies/request-profiler.js'
export { slackGuard } from './policies/slack-guard.js'
export { smThrottle } from './policies/sm-throttle.js'
export { triage } from './policies/triage.js'

/** A scheduler made from a configuration; `Name` are its class names. */
export type Horizon<Name extends string = string> = Scheduler<Name>

/**
 * Makes a scheduler from a configuration. Throws `ERR_CONFIG_…` naming the field that is wrong.
 *
 * @example
 * const horizon = createHorizon({
 *   classes: { chat: { output: 'text', sloMs: 400 }, speech: { output: 'audio', sloMs: 4000 } },
 *   profile: {
 *     chat: { shared: { promptTokens: [[0, 15], [4000, 160]] } },
 *     speech: { shared: { promptTokens: [[0, 40], [4000, 200]] }, downstream: { fixedMs: 450 } },
 *   },
 * })
 */
export function createHorizon<const Name extends string>(
  config: HorizonConfig<Name>,
  parts: HorizonParts = {},
): Horizon<Name> {
  return createScheduler(parseConfig(config, parts))
}
