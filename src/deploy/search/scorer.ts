/**
 * @module
 * Scores placements, whole or partial. For a partial one every figure is a lower bound of what any completion reaches:
 * open units run at their best time, cost no lag, and spread over the GPUs without loss.
 */
import type { Machine } from '../bounds/machine.js'
import { timeOf } from '../bounds/placement.js'
import { serialFirstOutput, serialScratch, serialShape } from '../bounds/serial-start.js'
import { repeats, type TaskGraph } from '../ir/task-graph.js'
import { elementaryCycles } from './elementary-cycles.js'
import type { SearchState } from './search-state.js'
import type { Unit } from './units.js'

export interface Score {
  /** Sustainable period, in ms: load, cycle ratio, and for partial placements the spread of open work. */
  readonly periodMs: number
  /** First output at that period, in ms. */
  readonly firstOutputMs: number
  /** The lowest first output at any period up to the limit, and the shortest period that gives it, in ms. */
  readonly latencyMs: number
  readonly latencyPeriodMs: number
  /** Whether no longer period lowers that first output any more; false where the limit cuts it off. */
  readonly settled: boolean
  /** Work of request- and event-rate nodes that interrupts per-batch work on a shared GPU when it comes, in ms. */
  readonly stallMs: number
  readonly gpus: number
  /** GiB above the GPUs' memory, over all of them; 0 unless the search lets memory be overstepped. */
  readonly excessGiB: number
}

export interface Scorer {
  /** `limitMs`: longest period allowed; options with more work per batch than that are no options. */
  score(state: SearchState, limitMs?: number): Score
  /** False when cycles are too many to list, so that `cycleBound` must be asked once a placement is whole. */
  readonly cyclesListed: boolean
}

/** Above this many tasks branches that share a GPU are priced by their sum alone: a look must stay cheap. */
const MAX_SERIAL = 24
const NOWHERE: readonly number[] = []

export function scorer(graph: TaskGraph, machine: Machine, units: readonly Unit[]): Scorer {
  const count = graph.tasks.length
  const unitOf = new Int32Array(count).fill(-1)
  const slotOf = new Int32Array(count).fill(-1)
  units.forEach((unit, index) => {
    unit.tasks.forEach((task, slot) => {
      unitOf[task] = index
      slotOf[task] = slot
    })
  })
  const least = graph.tasks.map((task, index) =>
    unitOf[index] === -1
      ? timeOf(task.node, 'cpu', 1)!
      : Math.min(...units[unitOf[index]!]!.options.map((option) => option.tauMs[slotOf[index]!]!)),
  )
  const periodic = graph.tasks.map((task) => task.node.runs === 'batch')
  const cost = graph.dependences.map((edge) => {
    const over = (link: { latencyMs: number; gibPerSecond: number }): number =>
      edge.costMs ?? link.latencyMs + (edge.payloadBytes / 2 ** 30 / link.gibPerSecond) * 1000
    return { near: over(machine.links.intraHost), far: over(machine.links.interHost) }
  })
  const inside = graph.dependences.flatMap((edge, index) => (edge.lambda === 0 ? [index] : []))
  // By target: task indices are a topological order, so one sweep finds longest paths.
  inside.sort((a, b) => graph.dependences[a]!.to - graph.dependences[b]!.to)
  const across = graph.dependences.flatMap((edge, index) =>
    edge.lambda > 0 && repeats(graph, edge) ? [index] : [],
  )
  const loops = graph.dependences.map((edge) =>
    repeats(graph, edge) ? edge : { from: 0, to: -1, lambda: 0 },
  )
  const cycles = elementaryCycles(count, loops)
  const entry = new Uint8Array(count)
  for (const index of graph.entries) entry[index] = 1
  const needed = firstChunk(graph)
  const shape = serialShape(graph.dependences, graph.entries, graph.outputs[0]!, needed)
  const serial = count <= MAX_SERIAL && shape.worth && needed[graph.outputs[0]!] === true
  const scratch = serialScratch(count, machine.gpus.length)
  const tau = new Float64Array(count)
  const lag = new Float64Array(graph.dependences.length)
  const start = new Float64Array(count)
  /** Batches that the longest path to a task reaches back. */
  const reach = new Float64Array(count)
  /** Of the output that binds: how fast it comes down when the period grows. */
  let slope = 0
  const work = new Float64Array(machine.gpus.length)
  const chunks = graph.outputs.length

  const fill = (state: SearchState): void => {
    for (let task = 0; task < count; task += 1) {
      const unit = unitOf[task]!
      const option = unit === -1 ? -1 : state.option[unit]!
      tau[task] = option === -1 ? least[task]! : units[unit]!.options[option]!.tauMs[slotOf[task]!]!
    }
    graph.dependences.forEach((edge, index) => {
      const from = unitOf[edge.from]!
      const to = unitOf[edge.to]!
      const groupFrom = from === -1 ? -2 - edge.from : state.group[from]!
      const groupTo = to === -1 ? -2 - edge.to : state.group[to]!
      if (groupFrom === groupTo || groupFrom === -1 || groupTo === -1) lag[index] = 0
      else lag[index] = near(state, groupFrom, groupTo) ? cost[index]!.near : cost[index]!.far
    })
  }
  const sweep = (): void => {
    let at = 0
    for (let task = 0; task < count; task += 1) {
      let value = entry[task] === 1 ? Math.max(0, start[task]!) : start[task]!
      while (at < inside.length && graph.dependences[inside[at]!]!.to === task) {
        const index = inside[at]!
        const from = graph.dependences[index]!.from
        const due = start[from]! + tau[from]! + lag[index]!
        if (due > value) {
          value = due
          reach[task] = reach[from]!
        }
        at += 1
      }
      start[task] = value
    }
  }
  const outputAt = (periodMs: number): number => {
    let value = Number.NEGATIVE_INFINITY
    for (let k = 0; k < chunks; k += 1) {
      const task = graph.outputs[k]!
      const ready = start[task]! + tau[task]! - (k === 0 ? 0 : (k * periodMs) / chunks)
      if (ready > value) {
        value = ready
        slope = reach[task]! + k / chunks
      }
    }
    return value
  }
  /** Longest path with edges across batches, for a whole placement. */
  const pressed = (periodMs: number): number => {
    start.fill(Number.NEGATIVE_INFINITY)
    reach.fill(0)
    for (let round = 0; round <= count; round += 1) {
      sweep()
      let moved = false
      for (const index of across) {
        const edge = graph.dependences[index]!
        const due = start[edge.from]! + tau[edge.from]! + lag[index]! - periodMs
        if (due > start[edge.to]! + 1e-9 * Math.max(1, Math.abs(due))) {
          start[edge.to] = due
          reach[edge.to] = reach[edge.from]! + 1
          moved = true
        }
      }
      if (!moved) break
    }
    return outputAt(periodMs)
  }

  return {
    cyclesListed: cycles !== undefined,
    score(state, limitMs = Number.POSITIVE_INFINITY) {
      fill(state)
      let periodMs = 0
      let area = 0
      let whole = true
      let gpus = 0
      let excessGiB = 0
      for (let gpu = 0; gpu < state.loadMs.length; gpu += 1) {
        area += state.loadMs[gpu]!
        if (state.loadMs[gpu]! > periodMs) periodMs = state.loadMs[gpu]!
        if (state.users[gpu]! > 0) gpus += 1
        const over = state.memoryGiB[gpu]! - machine.gpus[gpu]!.memoryGiB
        if (over > 1e-9) excessGiB += over
      }
      for (let unit = 0; unit < units.length; unit += 1) {
        if (state.option[unit] !== -1) continue
        whole = false
        let shortest = Number.POSITIVE_INFINITY
        let smallest = Number.POSITIVE_INFINITY
        for (const option of units[unit]!.options) {
          if (option.loadMs < shortest) shortest = option.loadMs
          const spread = option.loadMs * option.degree
          if (option.loadMs <= limitMs * (1 + 1e-9) && spread < smallest) smallest = spread
        }
        if (shortest > periodMs) periodMs = shortest
        area += smallest
      }
      if (!whole) periodMs = Math.max(periodMs, area / state.loadMs.length)
      for (let task = 0; task < count; task += 1)
        if (unitOf[task] === -1 && periodic[task] && tau[task]! > periodMs) periodMs = tau[task]!
      for (const cycle of cycles ?? []) {
        let weight = 0
        for (const index of cycle.edges)
          weight += tau[graph.dependences[index]!.from]! + lag[index]!
        if (weight > periodMs * cycle.lambda) periodMs = weight / cycle.lambda
      }
      work.fill(0)
      let stallMs = 0
      for (let task = 0; task < count; task += 1) {
        const unit = unitOf[task]!
        if (unit === -1 || state.group[unit] === -1) continue
        const set = state.groups[state.group[unit]!]!.gpus
        if (needed[task]) for (const gpu of set) work[gpu]! += tau[task]!
        if (!periodic[task] && shares(state, unitOf, periodic, set)) stallMs += tau[task]!
      }
      let floorMs = 0
      for (const value of work) if (value > floorMs) floorMs = value
      if (serial) {
        const standsOn = (task: number): readonly number[] => {
          const unit = unitOf[task]!
          return unit === -1 || state.group[unit] === -1
            ? NOWHERE
            : state.groups[state.group[unit]!]!.gpus
        }
        const { dependences } = graph
        floorMs = Math.max(
          floorMs,
          serialFirstOutput(shape, dependences, tau, lag, standsOn, scratch),
        )
      }
      start.fill(Number.NEGATIVE_INFINITY)
      sweep()
      const directMs = Math.max(floorMs, outputAt(Number.POSITIVE_INFINITY))
      if (!whole)
        return {
          periodMs,
          firstOutputMs: directMs,
          latencyMs: directMs,
          latencyPeriodMs: periodMs,
          settled: true,
          stallMs,
          gpus,
          excessGiB,
        }
      const firstOutputMs = Math.max(floorMs, pressed(periodMs))
      let latencyMs = firstOutputMs
      let latencyPeriodMs = periodMs
      let settled = true
      if (firstOutputMs > directMs * (1 + 1e-9)) {
        // Later chunks and earlier batches press on the first output, and let go as the period grows.
        const calmMs = calm(periodMs, directMs)
        settled = calmMs <= limitMs * (1 + 1e-9)
        latencyPeriodMs = Math.max(periodMs, Math.min(limitMs, calmMs))
        latencyMs = Math.max(floorMs, pressed(latencyPeriodMs))
      }
      return {
        periodMs,
        firstOutputMs,
        latencyMs,
        latencyPeriodMs,
        settled,
        stallMs,
        gpus,
        excessGiB,
      }
    },
  }

  /** The shortest period at which the first output is down to the goal. */
  function calm(fromMs: number, goalMs: number): number {
    let periodMs = fromMs
    for (;;) {
      const value = pressed(periodMs)
      if (value <= goalMs * (1 + 1e-9) || slope <= 0) return periodMs
      // There this path presses no more; each round retires one, and there are finitely many.
      periodMs += (value - goalMs) / slope
    }
  }
}

/** Whether two groups stand on one host; the CPU (below -1) is on the first. */
function near(state: SearchState, from: number, to: number): boolean {
  return hostOf(state, from) === hostOf(state, to)
}

function hostOf(state: SearchState, group: number): number {
  return group < 0 ? 0 : state.machine.gpus[state.groups[group]!.gpus[0]!]!.host
}

/** Whether per-batch work stands on one of these GPUs. */
function shares(
  state: SearchState,
  unitOf: Int32Array,
  periodic: readonly boolean[],
  set: readonly number[],
): boolean {
  for (let task = 0; task < periodic.length; task += 1) {
    const unit = unitOf[task]!
    if (!periodic[task] || unit === -1 || state.group[unit] === -1) continue
    if (state.groups[state.group[unit]!]!.gpus.some((gpu) => set.includes(gpu))) return true
  }
  return false
}

function firstChunk(graph: TaskGraph): boolean[] {
  const after = graph.tasks.map((_, task) => graph.entries.includes(task))
  const before = graph.tasks.map((_, task) => graph.outputs[0] === task)
  const edges = graph.dependences.filter((edge) => edge.lambda === 0)
  for (let round = 0; round < graph.tasks.length; round += 1)
    for (const edge of edges) {
      if (after[edge.from]) after[edge.to] = true
      if (before[edge.to]) before[edge.from] = true
    }
  return after.map((value, task) => value && before[task]!)
}
