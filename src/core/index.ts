export { bucketMs, bucketOf, NUM_BUCKETS } from './bucket.js'
export type { Decision } from './decision.js'
export { type ErrorCode, type ErrorDetails, HorizonError, isHorizonError } from './errors.js'
export type { EstimateOptions } from './estimates.js'
export type { RequestName, SchedulerEmitter, SchedulerEvents } from './events.js'
export { explainView, type ViewLine } from './explain-view.js'
export type { Groups } from './groups.js'
export { checkIntegrity } from './integrity.js'
export { createLadder, type Ladder, type LadderSpec, snapToLevel } from './ladder.js'
export { LatencyHistogram } from './latency-histogram.js'
export type { ClassMetrics, Metrics } from './metrics.js'
export type { Outlook, RequestInputs } from './outlook.js'
export {
  type Actuator,
  type BaseScheduler,
  type CapController,
  INPUT,
  type Order,
  type Policy,
  type PressureSample,
  type PressureSource,
  type Profiler,
  type UrgencyRule,
  type ViewFilter,
  WORK,
} from './ports.js'
export { type ClassSpec, type ClassTable, LONG, type Path, SHORT } from './request-class.js'
export { LOST, ORDINARY, PROTECTED } from './request-table.js'
export { createScheduler, type Scheduler } from './scheduler.js'
export type { ArrivingRequest, PressureReading, SchedulerOptions } from './scheduler-options.js'
export { type Signals, type Status, TIME } from './signals.js'
export type { View } from './view.js'
