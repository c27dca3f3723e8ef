/**
 * @module
 * An exhibit is a figure or table of the paper, or a question of ours: the jobs it needs, and what it says about their rows.
 */
import type { GpuName, ModelName } from '../omni/parameters.js'
import type { Section } from './document.js'
import type { Job, Point, Row } from './job.js'
import type { Laboratory } from './laboratory.js'
import { type Estimate, estimate, paired } from './statistics.js'

/** How much is run. */
export interface Budget {
  /** Paired seeds per point. */
  readonly seeds: number
  /** The same where ours are held against HorizonServe as printed, whose differences are small; at least `seeds`. */
  readonly ourSeeds: number
  /** Virtual minutes of arrivals per point (paper: 15). */
  readonly minutes: number
  /** Requests per class of the long runs; 0 for none. */
  readonly longRunPerClass: number
  /** Random worlds. */
  readonly draws: number
  /** Models whose parameters are also moved one at a time. */
  readonly oneAtATime: readonly ModelName[]
  /** Recorded arrivals are at hand. */
  readonly traces: boolean
}

export interface Exhibit {
  readonly id: string
  readonly title: string
  jobs(budget: Budget, lab: Laboratory): Job[]
  section(budget: Budget, results: Results, lab: Laboratory): Section
}

/** Rows by job; every job asked for is there. */
export interface Results {
  rows(point: Point, policy: string, seeds: number): Row[]
}

/** Seeds of the experiments; exploring was done with others (below 100). */
export const FIRST_SEED = 101

export function jobsFor(
  points: readonly Point[],
  policies: readonly string[],
  seeds: number,
): Job[] {
  return points.flatMap((point) =>
    Array.from({ length: seeds }, (_, i) =>
      policies.map((policy) => ({ point, policy, seed: FIRST_SEED + i })),
    ).flat(),
  )
}

/** Percent over all that arrived, by seed. */
export function arrivedPct(rows: readonly Row[]): number[] {
  return rows.map((row) => 100 * (row.all.overArrived ?? 0))
}

/** Percent over those completed when arrivals stopped, by seed: the paper's attainment. */
export function completedPct(rows: readonly Row[]): number[] {
  return rows.map((row) => 100 * (row.all.overCompleted ?? 0))
}

export const mean = (values: readonly number[]): number => estimate(values).mean

/** Attainment over all arrived of one policy above another, paired, in points. */
export function gain(
  results: Results,
  point: Point,
  seeds: number,
  a: string,
  b: string,
): Estimate {
  return paired(
    arrivedPct(results.rows(point, a, seeds)),
    arrivedPct(results.rows(point, b, seeds)),
  )
}

/** Load that figures 9 and 11 and table 3 use; the paper does not print its own. The middle rate of each sweep of figure 8. */
const MIDDLE: Readonly<Record<ModelName, number>> = {
  'qwen2.5-omni': 0.4,
  'mimo-audio': 0.4,
  bagel: 0.5,
}

export function representative(gpu: GpuName, model: ModelName, budget: Budget): Point {
  return { gpu, model, rate: MIDDLE[model], longFraction: 0.3, extent: { minutes: budget.minutes } }
}
