/**
 * @module
 * The simulator: discrete events in virtual time, seeded randomness, and the models built on them.
 */
export {
  clamped,
  constant,
  type Distribution,
  empirical,
  exponential,
  gamma,
  gammaOf,
  lognormal,
  lognormalOf,
  mixture,
  pareto,
  poisson,
  standardNormal,
  uniform,
  weibull,
  weibullOf,
} from './distributions.js'
export {
  createEventQueue,
  type EventId,
  type EventQueue,
  MAX_RANK,
  type PoppedEvent,
} from './event-queue.js'
export {
  erlangC,
  mg1Wait,
  mmcWait,
  type QueueOptions,
  type QueueResult,
  simulateQueue,
} from './queueing.js'
export { createRng, type Rng } from './rng.js'
export {
  createSimulation,
  type EventHandler,
  type EventKind,
  type RunEnd,
  type Simulation,
} from './simulation.js'
export { type EngineSettings, engineSettings } from './vllm/engine-settings.js'
export type { ErrorSummary, MetricError } from './vllm/error-summary.js'
export type { FitRun } from './vllm/fit.js'
export { loadKernelTables } from './vllm/load-tables.js'
export { parseRecordedRun, type RecordedRequest } from './vllm/recorded-run.js'
export { type FidelityResult, type Replay, replayRun } from './vllm/replay.js'
