/**
 * @module
 * From a pipeline and a GPU budget to plans: placements with the period and latency that a schedule really attains, the
 * bound that nothing beats, and the reason the winner won.
 */
import { HorizonError } from '../../core/errors.js'
import { type DeploymentBounds, deploymentBounds } from '../bounds/deployment-bounds.js'
import type { Machine } from '../bounds/machine.js'
import { applyPlacement, type Placement } from '../bounds/placement.js'
import type { TimedGraph } from '../bounds/timed-graph.js'
import type { Locate } from '../ir/build-task-graph.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { type AttainedSchedule, attainLatency, attainPeriod } from '../schedule/cyclic-schedule.js'
import { explainPlan } from './explain.js'
import { type Missing, missing } from './missing.js'
import type { Objective } from './objective.js'
import { placementOf, type SearchOptions, type SearchResult, search } from './search.js'
import { type Unit, unitsOf } from './units.js'

export interface PlanOptions extends SearchOptions {
  readonly objective: 'latency' | 'rate' | 'pareto'
  /** Floor under the rate, in the pipeline's unit per second. @default none */
  readonly minRatePerSec?: number
  /** Names places in errors; `ReadPipeline.locate` for a file. */
  readonly locate?: Locate
}

export interface Plan {
  readonly objective: 'latency' | 'rate' | 'pareto'
  readonly placement: Placement
  /** GPUs per node; CPU nodes are absent. */
  readonly degrees: Readonly<Record<string, number>>
  /** Attained by `schedule`: period, first output after a batch is ready, and rate in the pipeline's unit. */
  readonly periodMs: number
  readonly latencyMs: number
  readonly ratePerSec: number
  /** True when no placement and no schedule has a better first figure (latency, or period for `rate`). */
  readonly optimal: boolean
  /** How far that figure may be from the best possible, as a fraction. */
  readonly gap: number
  /** The proven lower bound of that figure over all placements, in ms. */
  readonly lowerMs: number
  readonly why: string
  readonly timed: TimedGraph
  readonly bounds: DeploymentBounds
  readonly schedule: AttainedSchedule
}

export interface PlanResult {
  /** Best first; for `pareto` from lowest latency to highest rate. Empty when nothing fits. */
  readonly plans: readonly Plan[]
  /** Other placements looked at, each worse than the first plan; for a ranked table. */
  readonly others: readonly Plan[]
  /** What keeps every placement out, and the one that comes nearest. */
  readonly missing?: Missing
}

/** @example plan(buildTaskGraph(pipeline), machine({ gpus: 4, hardware: 'b200' }), { objective: 'rate' }) */
export function plan(graph: TaskGraph, machine: Machine, options: PlanOptions): PlanResult {
  const units = unitsOf(graph, machine, options.locate)
  const floor = options.minRatePerSec
  if (floor !== undefined && !(floor > 0))
    throw new HorizonError('ERR_DEPLOY_BUDGET', 'the rate floor is wrong', {
      field: 'minRatePerSec',
      expected: 'a number above 0',
      got: floor,
    })
  const maxPeriodMs =
    floor === undefined ? undefined : (graph.pipeline.unitsPerBatch / floor) * 1000
  const limit = maxPeriodMs === undefined ? {} : { maxPeriodMs }
  if (options.objective === 'pareto') {
    const plans = paretoFront(graph, machine, units, options, limit)
    if (plans.length > 0) return { plans, others: [] }
  } else {
    const objective: Objective = { kind: options.objective, ...limit }
    const result = search(graph, machine, units, objective, options)
    const ranked = attainAll(graph, machine, units, objective, options.objective, result, options)
    if (ranked.length > 0) return { plans: ranked.slice(0, 1), others: ranked.slice(1) }
  }
  return { plans: [], others: [], missing: missing(graph, machine, units, options, maxPeriodMs) }
}

/** Lowest latency first, then the lowest latency at a shorter and shorter period, until none is left. */
function paretoFront(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  options: PlanOptions,
  limit: { readonly maxPeriodMs?: number },
): Plan[] {
  const front: Plan[] = []
  let cap = limit.maxPeriodMs ?? Number.POSITIVE_INFINITY
  for (let point = 0; point < 32; point += 1) {
    const objective: Objective = {
      kind: 'latency',
      ...(Number.isFinite(cap) && { maxPeriodMs: cap }),
    }
    const result = search(graph, machine, units, objective, { ...options, keep: 3 })
    const best = attainAll(graph, machine, units, objective, 'pareto', result, options)[0]
    if (best === undefined) break
    front.push(best)
    cap = result.found[0]!.score.latencyPeriodMs * (1 - 1e-6)
  }
  return front.filter((one, index) => !front.some((other, at) => outdoes(other, at, one, index)))
}

/** Whether another point is as good in both figures and better in one, or the same and proven or earlier. */
function outdoes(other: Plan, at: number, one: Plan, index: number): boolean {
  if (at === index) return false
  const near = 1 + 1e-9
  if (other.latencyMs > one.latencyMs * near || other.periodMs > one.periodMs * near) return false
  if (other.latencyMs * near < one.latencyMs || other.periodMs * near < one.periodMs) return true
  return other.optimal === one.optimal ? at < index : other.optimal
}

/** Schedules what the search found and ranks it by what is attained. */
function attainAll(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  objective: Objective,
  name: Plan['objective'],
  result: SearchResult,
  options: PlanOptions,
): Plan[] {
  const limit = objective.maxPeriodMs
  const tries = { seed: options.seed ?? 1, ...(limit !== undefined && { maxPeriodMs: limit }) }
  const plans = result.found.map((found): Plan => {
    const placement = placementOf(graph, units, found)
    const timed = applyPlacement(graph, machine, placement)
    const schedule =
      objective.kind === 'rate' ? attainPeriod(timed, tries) : attainLatency(timed, tries)
    const figure = objective.kind === 'rate' ? schedule.periodMs : schedule.firstOutputMs
    const gap = Math.max(0, figure / result.lowerMs - 1)
    return {
      objective: name,
      placement,
      degrees: Object.fromEntries(
        Object.entries(placement).map(([path, gpus]) => [path, gpus.length]),
      ),
      periodMs: schedule.periodMs,
      latencyMs: schedule.firstOutputMs,
      ratePerSec: (graph.pipeline.unitsPerBatch / schedule.periodMs) * 1000,
      optimal: gap < 1e-9,
      gap: gap < 1e-9 ? 0 : gap,
      lowerMs: result.lowerMs,
      why: '',
      timed,
      bounds: deploymentBounds(timed),
      schedule,
    }
  })
  const rank = (one: Plan): readonly [number, number] =>
    objective.kind === 'rate' ? [one.periodMs, one.latencyMs] : [one.latencyMs, one.periodMs]
  const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, a)
  const ranked = plans
    .filter((one) => limit === undefined || one.periodMs <= limit * (1 + 1e-6))
    .sort((a, b) => {
      const [a1, a2] = rank(a)
      const [b1, b2] = rank(b)
      return near(a1, b1) ? (near(a2, b2) ? 0 : a2 - b2) : a1 - b1
    })
  return ranked.map((one, index) => ({
    ...one,
    why: explainPlan(graph, one, index === 0 ? ranked[1] : ranked[0]),
  }))
}
