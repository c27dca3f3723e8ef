/**
 * @module
 * A placement puts each GPU task on a set of GPUs; the size of the set is its parallel degree. Groups may overlap.
 * `applyPlacement` turns task graph + machine + placement into numbers (`TimedGraph`).
 */
import { HorizonError } from '../../core/errors.js'
import type { EngineNode, OperationNode } from '../ir/pipeline.js'
import type { Dependence, TaskGraph } from '../ir/task-graph.js'
import type { Machine } from './machine.js'
import type { TimedEdge, TimedGraph } from './timed-graph.js'

/** GPU indices, ascending, by task path. CPU tasks are absent. */
export type Placement = Readonly<Record<string, readonly number[]>>

/** Time of a node on `degree` GPUs of a kind; undefined where the node has no such row. */
export function timeOf(
  node: OperationNode | EngineNode,
  hardware: string,
  degree: number,
): number | undefined {
  const rows = node.timesMs
  const row = rows?.[hardware] ?? rows?.any
  return row?.[String(degree)]
}

/** GiB that a node takes on each of its `degree` GPUs, without its states. */
export function ownMemoryGiB(node: OperationNode | EngineNode, degree: number): number {
  return typeof node.memoryGiB === 'number' ? node.memoryGiB : (node.memoryGiB[String(degree)] ?? 0)
}

/**
 * GiB taken on every GPU. A state is split over its group and stands on a GPU once, however many nodes touch it there:
 * co-located readers share one copy, readers on other groups bring a replica.
 */
export function memoryPerGpu(
  graph: TaskGraph,
  machine: Machine,
  placement: Placement,
): readonly number[] {
  return machine.gpus.map((_, gpu) => {
    let sum = 0
    const states = new Map<string, number>()
    for (const { path, node, reads, writes } of graph.tasks) {
      const set = placement[path]
      if (set === undefined || !set.includes(gpu)) continue
      sum += ownMemoryGiB(node, set.length)
      for (const name of [...reads, ...writes]) {
        const part = graph.states.get(name)!.sizeBytes / 2 ** 30 / set.length
        states.set(name, Math.max(states.get(name) ?? 0, part))
      }
    }
    for (const part of states.values()) sum += part
    return sum
  })
}

/** Lag of a dependence when its ends stand on groups `from` and `to`; none when they share one group. */
export function lagMs(
  dependence: Pick<Dependence, 'costMs' | 'payloadBytes'>,
  from: readonly number[],
  to: readonly number[],
  machine: Machine,
): number {
  if (sameGroup(from, to)) return 0
  if (dependence.costMs !== undefined) return dependence.costMs
  const host = (set: readonly number[]): number => machine.gpus[set[0] ?? 0]?.host ?? 0
  const link = host(from) === host(to) ? machine.links.intraHost : machine.links.interHost
  return link.latencyMs + (dependence.payloadBytes / 2 ** 30 / link.gibPerSecond) * 1000
}

export function sameGroup(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((gpu, index) => gpu === b[index])
}

/** Refuses a placement that is not one: unknown GPUs, mixed hardware, degrees without a time, split pinned states. */
export function applyPlacement(
  graph: TaskGraph,
  machine: Machine,
  placement: Placement,
): TimedGraph {
  const lanes = new Map<number, number>()
  const tauMs: number[] = []
  const resources: number[][] = []
  graph.tasks.forEach(({ path, node }, index) => {
    if (node.device === 'cpu') {
      const lane = machine.gpus.length + lanes.size
      lanes.set(index, lane)
      resources.push([lane])
      tauMs.push(timeOrThrow(graph, index, 'cpu', 1))
      return
    }
    const set = placement[path]
    const kinds = new Set(set?.map((gpu) => machine.gpus[gpu]?.hardware))
    const distinct = new Set(set).size === set?.length
    if (
      set === undefined ||
      set.length === 0 ||
      kinds.size !== 1 ||
      kinds.has(undefined) ||
      !distinct
    )
      throw new HorizonError('ERR_DEPLOY_PLACEMENT', `node ${path} cannot stand there`, {
        expected: `one to ${machine.gpus.length} distinct GPUs of one kind`,
        got: set?.join(',') ?? 'nothing',
      })
    resources.push([...set].sort((a, b) => a - b))
    tauMs.push(timeOrThrow(graph, index, [...kinds][0]!, set.length))
  })
  graph.clusters.forEach((cluster, index) => {
    if (!sameGroup(resources[cluster]!, resources[index]!))
      throw new HorizonError(
        'ERR_DEPLOY_SPLIT_STATE',
        `${graph.tasks[cluster]!.path} and ${graph.tasks[index]!.path} share a pinned state and cannot stand on different groups`,
        { hint: "Give the state a 'moveMs' if it can be moved" },
      )
  })
  const edges = graph.dependences.map(
    (dependence, origin): TimedEdge => ({
      from: dependence.from,
      to: dependence.to,
      lambda: dependence.lambda,
      kappaMs: lagMs(dependence, resources[dependence.from]!, resources[dependence.to]!, machine),
      origin,
    }),
  )
  return {
    tauMs,
    share: graph.tasks.map((task) => task.node.runsPerBatch),
    periodic: graph.tasks.map((task) => task.node.runs === 'batch'),
    edges,
    entries: graph.entries,
    outputs: graph.outputs,
    resources,
    resourceCount: machine.gpus.length + lanes.size,
  }
}

function timeOrThrow(graph: TaskGraph, index: number, hardware: string, degree: number): number {
  const { path, node } = graph.tasks[index]!
  const time = timeOf(node, hardware, degree)
  if (time !== undefined) return time
  throw new HorizonError('ERR_DEPLOY_TIME_MISSING', `node ${path} has no time for this place`, {
    field: `${path}.timesMs`,
    expected: `milliseconds on ${degree} x ${hardware}`,
    got: node.timesMs === undefined ? 'no times at all' : JSON.stringify(node.timesMs),
  })
}
