/**
 * @module
 * When nothing fits: the placement that comes nearest, and what it lacks. Memory: GiB per GPU, and the smallest larger
 * budget that would do. Rate: the best rate there is against the floor.
 */
import { type Machine, withGpus } from '../bounds/machine.js'
import { memoryPerGpu, type Placement } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement, gpuRange } from './explain.js'
import type { PlanOptions } from './plan.js'
import { placementOf, search } from './search.js'
import { type Unit, unitsOf } from './units.js'

export interface Missing {
  readonly kind: 'memory' | 'rate'
  readonly text: string
  /** The nearest placement that does not fit. */
  readonly placement: Placement
  /** GiB that each GPU lacks under it; empty for `rate`. */
  readonly shortGiB: readonly number[]
  /** The smallest budget, of the same kind of GPU, that would do; absent when none up to 16 more was found. */
  readonly gpus?: number
}

export function missing(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  options: PlanOptions,
  maxPeriodMs: number | undefined,
): Missing {
  const quick = { ...options, nodes: Math.min(options.nodes ?? 50_000, 50_000), keep: 1 }
  const gpus = smallestBudget(graph, machine, options, maxPeriodMs)
  const enough = gpus === undefined ? '' : `; ${gpus} GPUs would do`
  const free = search(graph, machine, units, { kind: 'rate' }, quick)
  if (free.found.length > 0) {
    const best = free.found[0]!
    const placement = placementOf(graph, units, best)
    const rate = (graph.pipeline.unitsPerBatch / best.key[0]!) * 1000
    const text = `no placement reaches ${options.minRatePerSec} ${graph.pipeline.unit}/s: the nearest (${describePlacement(placement)}) has ${rate.toFixed(2)}${enough}`
    return { kind: 'rate', text, placement, shortGiB: [], ...(gpus !== undefined && { gpus }) }
  }
  const nearest = search(graph, machine, units, { kind: 'memory' }, quick).found[0]!
  const placement = placementOf(graph, units, nearest)
  const shortGiB = memoryPerGpu(graph, machine, placement).map((gib, gpu) =>
    Math.max(0, gib - machine.gpus[gpu]!.memoryGiB),
  )
  const lacks = shortGiB.flatMap((gib, gpu) =>
    gib > 0 ? [`${gpuRange([gpu])} lacks ${gib.toFixed(1)} GiB`] : [],
  )
  const text = `nothing fits the memory: the nearest (${describePlacement(placement)}) does not, as ${lacks.join(', ')}${enough}`
  return { kind: 'memory', text, placement, shortGiB, ...(gpus !== undefined && { gpus }) }
}

function smallestBudget(
  graph: TaskGraph,
  machine: Machine,
  options: PlanOptions,
  maxPeriodMs: number | undefined,
): number | undefined {
  const quick = { ...options, nodes: 20_000, keep: 1 }
  for (let more = 1; more <= 16; more += 1) {
    const larger = withGpus(machine, machine.gpus.length + more)
    const units = unitsOf(graph, larger, options.locate)
    const objective = { kind: 'rate' as const, ...(maxPeriodMs !== undefined && { maxPeriodMs }) }
    if (search(graph, larger, units, objective, quick).found.length > 0) return larger.gpus.length
  }
  return undefined
}
