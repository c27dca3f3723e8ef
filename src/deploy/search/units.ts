/**
 * @module
 * What a search places: units. A unit is one GPU task, or all tasks that a pinned state holds on one group. Its options
 * are the (hardware, degree) pairs at which every task of it has a time and fits the memory of a GPU.
 */
import { HorizonError } from '../../core/errors.js'
import { type Machine, widestHost } from '../bounds/machine.js'
import { ownMemoryGiB, timeOf } from '../bounds/placement.js'
import { dotted, type Locate } from '../ir/build-task-graph.js'
import type { TaskGraph } from '../ir/task-graph.js'

/** One way to run a unit. */
export interface UnitOption {
  readonly hardware: string
  readonly degree: number
  /** Time of each task of the unit in ms, in the order of `Unit.tasks`. */
  readonly tauMs: readonly number[]
  /** Work per batch on each GPU of the group, in ms: times by runs per batch. */
  readonly loadMs: number
  /** GiB per GPU without states, and each state's part: a state stands on a GPU once. */
  readonly ownGiB: number
  readonly states: readonly { readonly state: number; readonly gib: number }[]
}

export interface Unit {
  readonly name: string
  readonly tasks: readonly number[]
  readonly options: readonly UnitOption[]
}

/** Units of a graph on a machine. Throws when a task has no time, or when no GPU of the budget can hold a unit. */
export function unitsOf(graph: TaskGraph, machine: Machine, locate: Locate = dotted): Unit[] {
  const byCluster = new Map<number, number[]>()
  graph.tasks.forEach(({ path, node, at }, index) => {
    if (node.timesMs === undefined)
      throw new HorizonError(
        'ERR_DEPLOY_TIME_MISSING',
        `${locate(at)}: node ${path} has no times, so nothing can be planned; add 'timesMs'`,
      )
    if (node.device === 'cpu') {
      if (timeOf(node, 'cpu', 1) === undefined)
        throw new HorizonError(
          'ERR_DEPLOY_TIME_MISSING',
          `${locate([...at, 'timesMs'])}: node ${path} runs on the CPU and has no time for it; write 'timesMs: 3' or '{ cpu: { 1: 3 } }'`,
        )
      return
    }
    const cluster = graph.clusters[index]!
    byCluster.set(cluster, [...(byCluster.get(cluster) ?? []), index])
  })
  return [...byCluster.values()].map((tasks) => unitOf(graph, machine, tasks, locate))
}

function unitOf(
  graph: TaskGraph,
  machine: Machine,
  tasks: readonly number[],
  locate: Locate,
): Unit {
  const name = tasks.map((task) => graph.tasks[task]!.path).join(' + ')
  const at = graph.tasks[tasks[0]!]!.at
  const options: UnitOption[] = []
  const refused: string[] = []
  for (const hardware of new Set(machine.gpus.map((gpu) => gpu.hardware))) {
    const gpus = machine.gpus.filter((gpu) => gpu.hardware === hardware)
    for (const degree of degreesOf(graph, tasks, hardware)) {
      const tauMs = tasks.map((task) => timeOf(graph.tasks[task]!.node, hardware, degree)!)
      const ownGiB = tasks.reduce(
        (sum, task) => sum + ownMemoryGiB(graph.tasks[task]!.node, degree),
        0,
      )
      const states = statesOf(graph, tasks).map(({ state, bytes }) => ({
        state,
        gib: bytes / 2 ** 30 / degree,
      }))
      const memoryGiB = states.reduce((sum, item) => sum + item.gib, ownGiB)
      const holding = gpus.filter((gpu) => gpu.memoryGiB >= memoryGiB).length
      if (degree > gpus.length) {
        refused.push(`${degree} x ${hardware} needs ${degree} GPUs, the budget has ${gpus.length}`)
        continue
      }
      const widest = widestHost(machine, hardware)
      if (degree > widest && tasks.some((task) => staysOnHost(graph, task))) {
        refused.push(
          `${degree} x ${hardware} needs ${degree} GPUs on one host, the largest has ${widest}`,
        )
        continue
      }
      if (degree > holding) {
        const most = Math.max(...gpus.map((gpu) => gpu.memoryGiB))
        refused.push(
          `${degree} x ${hardware} needs ${round(memoryGiB)} GiB per GPU, a GPU has ${round(most)}`,
        )
        continue
      }
      const loadMs = tasks.reduce(
        (sum, task, index) => sum + tauMs[index]! * graph.tasks[task]!.node.runsPerBatch,
        0,
      )
      options.push({ hardware, degree, tauMs, loadMs, ownGiB, states })
    }
  }
  if (options.length > 0) return { name, tasks, options }
  const kinds = [...new Set(machine.gpus.map((gpu) => gpu.hardware))].join(', ')
  if (refused.length === 0) {
    const known = Object.keys(graph.tasks[tasks[0]!]!.node.timesMs ?? {}).join(', ')
    const lack =
      tasks.length > 1
        ? 'share a pinned state but no degree that all have a time for'
        : 'has no time'
    throw new HorizonError(
      'ERR_DEPLOY_TIME_MISSING',
      `${locate([...at, 'timesMs'])}: ${plural(tasks)} ${name} ${lack} on hardware '${kinds}'; there are times for: ${known}`,
    )
  }
  throw new HorizonError(
    'ERR_DEPLOY_BUDGET',
    `${locate(at)}: the budget cannot hold ${plural(tasks)} ${name}: ${refused.join('; ')}`,
  )
}

/** Stages of an engine are started on one host, and tensor parallelism speaks in every layer: neither spans hosts. */
function staysOnHost(graph: TaskGraph, task: number): boolean {
  const { node } = graph.tasks[task]!
  return node.kind === 'engine' || node.parallel.includes('tensor')
}

/** Degrees at which every task of a unit has a time. */
function degreesOf(graph: TaskGraph, tasks: readonly number[], hardware: string): number[] {
  const rows = tasks.map((task) => {
    const times = graph.tasks[task]!.node.timesMs
    return Object.keys(times?.[hardware] ?? times?.any ?? {}).map(Number)
  })
  return rows[0]!
    .filter((degree) => rows.every((row) => row.includes(degree)))
    .sort((a, b) => a - b)
}

/** Distinct states of some tasks, by their index among the graph's states. */
function statesOf(
  graph: TaskGraph,
  tasks: readonly number[],
): { readonly state: number; readonly bytes: number }[] {
  const names = [...graph.states.keys()]
  const used = new Set(
    tasks.flatMap((task) => [...graph.tasks[task]!.reads, ...graph.tasks[task]!.writes]),
  )
  return [...used].map((name) => ({
    state: names.indexOf(name),
    bytes: graph.states.get(name)!.sizeBytes,
  }))
}

function plural(tasks: readonly number[]): string {
  return tasks.length > 1 ? 'nodes' : 'node'
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
