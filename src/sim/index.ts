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
export { createRng, type Rng } from './rng.js'
export {
  createSimulation,
  type EventHandler,
  type EventKind,
  type RunEnd,
  type Simulation,
} from './simulation.js'
