/**
 * @module
 * From placements that a search ranked by bounds to plans: what a schedule really attains, ranked anew by that.
 */
import { deploymentBounds } from '../bounds/deployment-bounds.js'
import type { Machine } from '../bounds/machine.js'
import { applyPlacement } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { attainLatency, attainPeriod } from '../schedule/cyclic-schedule.js'
import type { Found } from './best-list.js'
import { explainPlan } from './explain.js'
import type { Objective } from './objective.js'
import type { Plan, PlanOptions } from './plan.js'
import { placementOf, type SearchResult } from './search.js'
import type { Unit } from './units.js'

/** What planning knows of its task. */
export interface Task {
  readonly graph: TaskGraph
  readonly machine: Machine
  readonly units: readonly Unit[]
  readonly options: PlanOptions
}

/** Above this many tasks a schedule is looked for in a few orders only. */
const MANY_TASKS = 100

/** One placement under its best schedule for the shortest period, or for the lowest latency up to a period. */
export function attainOne(
  { graph, machine, units, options }: Task,
  found: Found,
  goal: 'period' | 'latency',
  limitMs: number | undefined,
  lowerMs: number,
): Plan {
  const tries = {
    seed: options.seed ?? 1,
    ...(graph.tasks.length > MANY_TASKS && { orders: 3 }),
    ...(limitMs !== undefined && { maxPeriodMs: limitMs }),
  }
  const placement = placementOf(graph, units, found)
  const timed = applyPlacement(graph, machine, placement)
  const schedule = goal === 'period' ? attainPeriod(timed, tries) : attainLatency(timed, tries)
  const figure = options.objective === 'rate' ? schedule.periodMs : schedule.firstOutputMs
  return {
    objective: options.objective,
    placement,
    degrees: Object.fromEntries(
      Object.entries(placement).map(([path, gpus]) => [path, gpus.length]),
    ),
    periodMs: schedule.periodMs,
    latencyMs: schedule.firstOutputMs,
    ratePerSec: (graph.pipeline.unitsPerBatch / schedule.periodMs) * 1000,
    ...proof(figure, lowerMs),
    why: '',
    timed,
    bounds: deploymentBounds(timed),
    schedule,
  }
}

/** What a figure and its proven lower bound say of each other. */
export function proof(figure: number, lowerMs: number): Pick<Plan, 'optimal' | 'gap' | 'lowerMs'> {
  const gap = Math.max(0, figure / lowerMs - 1)
  return { optimal: gap < 1e-9, gap: gap < 1e-9 ? 0 : gap, lowerMs }
}

/** Schedules what the search found and ranks it by what is attained. */
export function attainAll(task: Task, objective: Objective, result: SearchResult): Plan[] {
  const limit = objective.maxPeriodMs
  const goal = objective.kind === 'rate' ? 'period' : 'latency'
  const plans = result.found.map((found) => attainOne(task, found, goal, limit, result.lowerMs))
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
    why: explainPlan(task.graph, one, index === 0 ? ranked[1] : ranked[0]),
  }))
}
