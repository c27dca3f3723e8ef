/**
 * @module
 * The first output of whole placements by list scheduling instead of bounds: one batch runs alone, tasks with the longest
 * rest of the way first. What branches cost each other on a shared GPU is in it, and no bound of a placement shows that.
 */
import type { Machine } from '../bounds/machine.js'
import { lagMs, timeOf } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Assignment } from './search-state.js'
import type { Unit } from './units.js'

export interface FirstOutput {
  /** In ms, when nothing of another batch is in the way. */
  measure(assignment: Assignment): number
  /** Units that the first chunk waits for. */
  readonly needed: readonly boolean[]
}

export function firstOutput(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
): FirstOutput {
  const count = graph.tasks.length
  const unitOf = graph.tasks.map((_, task) => units.findIndex((unit) => unit.tasks.includes(task)))
  const slotOf = graph.tasks.map((_, task) =>
    unitOf[task] === -1 ? -1 : units[unitOf[task]!]!.tasks.indexOf(task),
  )
  const inside = graph.dependences.filter((edge) => edge.lambda === 0)
  const into = graph.tasks.map((_, task) => inside.filter((edge) => edge.to === task))
  const outOf = graph.tasks.map((_, task) => inside.filter((edge) => edge.from === task))
  const wanted = new Set<number>()
  const walk = (task: number): void => {
    if (wanted.has(task)) return
    wanted.add(task)
    for (const edge of into[task]!) walk(edge.from)
  }
  walk(graph.outputs[0]!)
  const tasks = [...wanted].sort((a, b) => a - b)
  const tau = new Float64Array(count)
  const tail = new Float64Array(count)
  const end = new Float64Array(count)
  const free = new Float64Array(machine.gpus.length)
  const none: readonly number[] = []
  const costs = new Map<(typeof inside)[number], { readonly near: number; readonly far: number }>()
  const host = machine.gpus.map((gpu) => gpu.host)
  const far = host.findIndex((value) => value !== host[0])
  for (const edge of inside)
    costs.set(edge, {
      near: lagMs(edge, [0], [], machine),
      far: far === -1 ? 0 : lagMs(edge, [0], [far], machine),
    })
  return {
    needed: units.map((unit) => unit.tasks.some((task) => wanted.has(task))),
    measure({ option, gpus }) {
      const place = (task: number): readonly number[] =>
        unitOf[task] === -1 ? none : gpus[unitOf[task]!]!
      const lag = (edge: (typeof inside)[number]): number => {
        const from = place(edge.from)
        const to = place(edge.to)
        if (from === to || equal(from, to)) return 0
        const cost = costs.get(edge)!
        return host[from[0] ?? 0] === host[to[0] ?? 0] ? cost.near : cost.far
      }
      for (let at = tasks.length - 1; at >= 0; at -= 1) {
        const task = tasks[at]!
        const unit = unitOf[task]!
        tau[task] =
          unit === -1
            ? timeOf(graph.tasks[task]!.node, 'cpu', 1)!
            : units[unit]!.options[option[unit]!]!.tauMs[slotOf[task]!]!
        let rest = 0
        for (const edge of outOf[task]!)
          if (wanted.has(edge.to)) rest = Math.max(rest, lag(edge) + tail[edge.to]!)
        tail[task] = tau[task]! + rest
      }
      // Longest rest first is a topological order, but for ties, which the index breaks.
      const order = [...tasks].sort((a, b) => tail[b]! - tail[a]! || a - b)
      free.fill(0)
      for (const task of order) {
        let start = 0
        for (const edge of into[task]!) start = Math.max(start, end[edge.from]! + lag(edge))
        const set = place(task)
        for (const gpu of set) start = Math.max(start, free[gpu]!)
        end[task] = start + tau[task]!
        for (const gpu of set) free[gpu] = end[task]!
      }
      return end[graph.outputs[0]!]!
    },
  }
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((gpu, index) => gpu === b[index])
}
