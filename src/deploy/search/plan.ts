/**
 * @module
 * From a pipeline and a GPU budget to plans: placements with the period and latency that a schedule really attains, the
 * bound that nothing beats, and the reason the winner won.
 */
import { HorizonError } from '../../core/errors.js'
import type { DeploymentBounds } from '../bounds/deployment-bounds.js'
import type { Machine } from '../bounds/machine.js'
import type { Placement } from '../bounds/placement.js'
import type { TimedGraph } from '../bounds/timed-graph.js'
import type { Locate } from '../ir/build-task-graph.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { AttainedSchedule } from '../schedule/cyclic-schedule.js'
import { attainAll } from './attain.js'
import { type Missing, missing } from './missing.js'
import type { Objective } from './objective.js'
import { paretoFront } from './pareto-front.js'
import { type SearchOptions, search } from './search.js'
import { unitsOf } from './units.js'

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
  /** For `pareto`: what is known of the points that are not there. */
  readonly front?: Front
  /** What keeps every placement out, and the one that comes nearest. */
  readonly missing?: Missing
}

/** How complete a front is. */
export interface Front {
  /** True when every point that no schedule of any placement can beat is in it. */
  readonly complete: boolean
  /**
   * No point that might still be missing is better than one of the front by more than this fraction, in latency and
   * period at once.
   */
  readonly gap: number
  /** How far the lowest latency and the shortest period may be from the best possible, as fractions. */
  readonly latencyGap: number
  readonly periodGap: number
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
  const task = { graph, machine, units, options }
  if (options.objective === 'pareto') {
    const { plans, front } = paretoFront(task, maxPeriodMs)
    if (plans.length > 0) return { plans, others: [], front }
  } else {
    const objective: Objective = { kind: options.objective, ...limit }
    const result = search(graph, machine, units, objective, options)
    const ranked = attainAll(task, objective, result)
    if (ranked.length > 0) return { plans: ranked.slice(0, 1), others: ranked.slice(1) }
  }
  return { plans: [], others: [], missing: missing(graph, machine, units, options, maxPeriodMs) }
}
