/** Every placement there is, with no symmetry and no pruning; scored by the bounds, not by the search's own scorer. */
import { deploymentBounds, lowestLatency } from '../../../src/deploy/bounds/deployment-bounds.js'
import type { Machine } from '../../../src/deploy/bounds/machine.js'
import { applyPlacement, memoryPerGpu, timeOf } from '../../../src/deploy/bounds/placement.js'
import type { TaskGraph } from '../../../src/deploy/ir/task-graph.js'
import { compareKeys, type Key } from '../../../src/deploy/search/objective.js'

export interface Exhausted {
  readonly rate: Key | undefined
  readonly latency: Key | undefined
  readonly front: readonly (readonly [periodMs: number, latencyMs: number])[]
  readonly placements: number
}

export function exhaust(
  graph: TaskGraph,
  machine: Machine,
  overlap: 'nested' | 'any' | 'disjoint',
): Exhausted {
  const count = machine.gpus.length
  const subsets = Array.from({ length: 2 ** count - 1 }, (_, index) =>
    machine.gpus.flatMap((_, gpu) => (((index + 1) >> gpu) & 1 ? [gpu] : [])),
  )
  let rate: Key | undefined
  let latency: Key | undefined
  let placements = 0
  const points: [number, number][] = []
  const chosen: (readonly number[])[] = []
  const visit = (task: number): void => {
    if (task === graph.tasks.length) {
      const placement = Object.fromEntries(
        graph.tasks.map(({ path }, index) => [path, chosen[index]!]),
      )
      const memory = memoryPerGpu(graph, machine, placement)
      if (memory.some((gib, gpu) => gib > machine.gpus[gpu]!.memoryGiB * (1 + 1e-12))) return
      placements += 1
      const timed = applyPlacement(graph, machine, placement)
      const { periodMs, firstOutputMs } = deploymentBounds(timed)
      const calm = lowestLatency(timed, periodMs)
      const tail = [stall(graph, machine, chosen), new Set(chosen.flat()).size]
      const byRate = [periodMs, firstOutputMs, ...tail]
      const byLatency = [calm.firstOutputMs, calm.periodMs, ...tail]
      if (rate === undefined || compareKeys(byRate, rate) < 0) rate = byRate
      if (latency === undefined || compareKeys(byLatency, latency) < 0) latency = byLatency
      points.push([periodMs, firstOutputMs], [calm.periodMs, calm.firstOutputMs])
      return
    }
    const { node } = graph.tasks[task]!
    for (const set of subsets) {
      const kinds = new Set(set.map((gpu) => machine.gpus[gpu]!.hardware))
      if (kinds.size !== 1 || timeOf(node, [...kinds][0]!, set.length) === undefined) continue
      // A group stays inside a host when some host has as many GPUs of that kind.
      const hosts = new Set(set.map((gpu) => machine.gpus[gpu]!.host))
      if (hosts.size > 1 && set.length <= widest(machine, [...kinds][0]!)) continue
      const cluster = graph.clusters[task]!
      if (cluster < task && chosen[cluster]!.join() !== set.join()) continue
      if (!chosen.every((other) => allowed(other, set, overlap))) continue
      chosen.push(set)
      visit(task + 1)
      chosen.pop()
    }
  }
  visit(0)
  points.sort((a, b) => a[0] - b[0] || a[1] - b[1])
  const front: [number, number][] = []
  for (const point of points) {
    const last = front.at(-1)
    if (last === undefined || point[1] < last[1] * (1 - 1e-9)) front.push(point)
  }
  return { rate, latency, front, placements }
}

function widest(machine: Machine, hardware: string): number {
  const sizes = new Map<number, number>()
  for (const gpu of machine.gpus)
    if (gpu.hardware === hardware) sizes.set(gpu.host, (sizes.get(gpu.host) ?? 0) + 1)
  return Math.max(...sizes.values())
}

function allowed(a: readonly number[], b: readonly number[], overlap: string): boolean {
  const common = a.filter((gpu) => b.includes(gpu)).length
  if (overlap === 'any' || common === 0) return true
  if (overlap === 'disjoint') return common === a.length && common === b.length
  return common === a.length || common === b.length
}

function stall(graph: TaskGraph, machine: Machine, chosen: readonly (readonly number[])[]): number {
  let sum = 0
  graph.tasks.forEach(({ node }, task) => {
    if (node.runs === 'batch') return
    const meets = graph.tasks.some(
      (other, index) =>
        other.node.runs === 'batch' && chosen[index]!.some((gpu) => chosen[task]!.includes(gpu)),
    )
    const hardware = machine.gpus[chosen[task]![0]!]!.hardware
    if (meets) sum += timeOf(node, hardware, chosen[task]!.length)!
  })
  return sum
}
