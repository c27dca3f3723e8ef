/**
 * @module
 * A schedule over time: which GPU runs which node of which batch. The instances of a few batches, for drawing.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'

export interface Bar {
  readonly task: number
  /** Batch number; -1 for nodes that run once, before the first batch. */
  readonly batch: number
  readonly resource: number
  /** After the first batch is ready, in ms. */
  readonly startMs: number
  readonly endMs: number
}

export interface Gantt {
  readonly bars: readonly Bar[]
  /** Names of the rows: `g0`, or a node on the CPU. */
  readonly rows: readonly { readonly resource: number; readonly name: string }[]
}

/** The first `batches` batches of a plan's schedule. Batch j is ready j periods after the first. */
export function gantt(graph: TaskGraph, plan: Plan, batches = 6): Gantt {
  const { timed, schedule } = plan
  const bars: Bar[] = []
  const used = new Set<number>()
  for (const [task, resources] of timed.resources.entries()) {
    const repeats = timed.periodic[task] ? batches : 1
    for (let j = 0; j < repeats; j += 1) {
      const startMs = j * schedule.periodMs + schedule.startMs[task]!
      for (const resource of resources) {
        used.add(resource)
        const batch = timed.periodic[task] ? j : -1
        bars.push({ task, batch, resource, startMs, endMs: startMs + timed.tauMs[task]! })
      }
    }
  }
  const gpus = new Set(Object.values(plan.placement).flat())
  const rows = [...used]
    .sort((a, b) => a - b)
    .map((resource) => {
      const lane = timed.resources.findIndex((set) => set.includes(resource))
      return {
        resource,
        name: gpus.has(resource) ? `g${resource}` : `cpu: ${graph.tasks[lane]!.path}`,
      }
    })
  return { bars, rows }
}
