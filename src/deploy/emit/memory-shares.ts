/**
 * @module
 * Shares of GPU memory for stages that stand together, counted as the engine counts: a share is a fraction of all memory
 * the GPU has, it must hold weights, KV cache, graphs and workspace of its stage, and at start that much must be free.
 * Each stage gets what it needs, and what is left in proportion, because engines turn spare memory into KV cache. A tenth
 * stays free for the driver and for fragmentation, unless the plan needs it.
 */
import type { Machine } from '../bounds/machine.js'
import { memoryPerGpu } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import type { EngineStage } from './engine-stages.js'

const USABLE = 0.9
/** Shares have three decimals. */
const UNIT = 1000

/** Fraction of each of its GPUs for each stage: never below the stage's need, together never above the whole. */
export function memoryShares(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
): number[] {
  const needs = needsOf(graph, machine, plan, stages)
  return stages.map((stage, index) => {
    const shares = stage.gpus.map((gpu) => {
      const here = stages.flatMap((other, at) =>
        other.gpus.includes(gpu) ? [needs[at]![gpu]!] : [],
      )
      const { memoryGiB, totalGiB = memoryGiB } = machine.gpus[gpu]!
      // Where the host has its part of the memory, stages share what it leaves.
      const usable = totalGiB > memoryGiB ? memoryGiB / totalGiB : USABLE
      const total = here.reduce((sum, gib) => sum + gib, 0)
      // Nothing declared, or no memory known to be a share of: equal parts, or parts by need.
      if (total === 0) return Math.floor((usable / here.length) * UNIT)
      const part = Math.floor(((usable * needs[index]![gpu]!) / total) * UNIT)
      if (!Number.isFinite(totalGiB)) return part
      return Math.max(part, Math.ceil((needs[index]![gpu]! / totalGiB) * UNIT - 1e-9))
    })
    return Math.max(1, Math.min(...shares)) / UNIT
  })
}

/** GiB that each stage takes on each GPU. */
function needsOf(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
): (readonly number[])[] {
  return stages.map((stage) => {
    const alone = Object.fromEntries(
      stage.tasks.map((task) => [
        graph.tasks[task]!.path,
        plan.placement[graph.tasks[task]!.path]!,
      ]),
    )
    return memoryPerGpu(graph, machine, alone)
  })
}

/** Whether every stage on this one's GPUs says what it needs. */
export function needsDeclared(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
  stage: EngineStage,
): boolean {
  const needs = needsOf(graph, machine, plan, stages)
  return stages.every(
    (other, at) =>
      !other.gpus.some((gpu) => stage.gpus.includes(gpu)) ||
      other.gpus.some((gpu) => needs[at]![gpu]! > 0),
  )
}
