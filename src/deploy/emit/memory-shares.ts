/**
 * @module
 * Shares of GPU memory for stages that stand together: each gets what it needs, and what is left in proportion, because
 * engines turn spare memory into KV cache. A tenth stays free for the driver and for fragmentation.
 */
import type { Machine } from '../bounds/machine.js'
import { memoryPerGpu } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import type { EngineStage } from './engine-stages.js'

const USABLE = 0.9

/** Fraction of each of its GPUs for each stage, two decimals, rounded down. */
export function memoryShares(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
): number[] {
  const needs = stages.map((stage) => {
    const alone = Object.fromEntries(
      stage.tasks.map((task) => [
        graph.tasks[task]!.path,
        plan.placement[graph.tasks[task]!.path]!,
      ]),
    )
    return memoryPerGpu(graph, machine, alone)
  })
  return stages.map((stage, index) => {
    const shares = stage.gpus.map((gpu) => {
      const here = stages.flatMap((other, at) =>
        other.gpus.includes(gpu) ? [needs[at]![gpu]!] : [],
      )
      const total = here.reduce((sum, gib) => sum + gib, 0)
      // Nothing declared: equal parts.
      return total === 0 ? USABLE / here.length : (USABLE * needs[index]![gpu]!) / total
    })
    return Math.max(0.01, Math.floor(Math.min(...shares) * 100) / 100)
  })
}
