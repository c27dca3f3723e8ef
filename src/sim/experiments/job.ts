/**
 * @module
 * One run of an experiment as data: what is run (a job) and what is kept of it (a row). A job says everything that decides its row, so
 * its text is the key under which the row is stored and found again.
 */
import type { GpuName, ModelName } from '../omni/parameters.js'
import type { Overrides } from '../omni/spec.js'

export type Arrivals = 'poisson' | 'azure-conv' | 'azure-code'

/** Load on one runtime; runs of one point and seed see the same requests whatever the policy: they are paired. */
export interface Point {
  readonly gpu: GpuName
  readonly model: ModelName
  /** Requests per second. */
  readonly rate: number
  readonly longFraction: number
  readonly extent: { readonly minutes: number } | { readonly requests: number }
  /** @default 'poisson' */
  readonly arrivals?: Arrivals
  readonly overrides?: Overrides
}

export interface Job {
  readonly point: Point
  /** Name of an experiment case, or `upper-bound`. */
  readonly policy: string
  readonly seed: number
}

/** Of all requests, one path, or one class. Fractions are `null` where nothing was there to count. */
export interface RowGroup {
  readonly arrived: number
  readonly met: number
  /** First responses by their deadline over all that arrived; the run is drained, so nothing is left out. */
  readonly overArrived: number | null
  /** The paper's way: over those that had completed when arrivals stopped. */
  readonly overCompleted: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
  readonly longestWaitMs: number
  /** Admitted only after their deadline had passed: given up on until then. */
  readonly abandoned: number
}

export interface Row {
  readonly all: RowGroup
  readonly short: RowGroup
  readonly long: RowGroup
  readonly classes: Readonly<Record<string, RowGroup>>
  readonly tpotMs: readonly [p50: number | null, p95: number | null]
  /** Correlation of pressure and cap over equal spans of time: all of them, and those in which a downstream stage ran. */
  readonly correlation: readonly [whole: number | null, corunning: number | null]
  /** Time until all work was done over the time in which requests arrived. */
  readonly drain: number
}

/** Key of a job: its fields in a fixed order. */
export function jobKey({ point, policy, seed }: Job): string {
  const overrides = Object.entries(point.overrides ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
  const extent =
    'minutes' in point.extent ? `${point.extent.minutes}min` : `${point.extent.requests}req`
  return [
    point.gpu,
    point.model,
    point.rate,
    point.longFraction,
    extent,
    point.arrivals ?? 'poisson',
    overrides.map(([path, value]) => `${path}=${value}`).join('&'),
    policy,
    seed,
  ].join('|')
}

/** The policy of the job that a key stands for. */
export function policyOfKey(key: string): string {
  return key.split('|').at(-2) ?? ''
}
