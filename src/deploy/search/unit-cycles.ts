/**
 * @module
 * Cycles over batches, seen by the units that stand on them: what a choice for some units makes of the period, with all
 * others at their best time and no lag. So it is a lower bound as long as something is open.
 */
import type { Machine } from '../bounds/machine.js'
import { timeOf } from '../bounds/placement.js'
import { repeats, type TaskGraph } from '../ir/task-graph.js'
import { elementaryCycles } from './elementary-cycles.js'
import type { Unit } from './units.js'

export interface CyclesOfUnits {
  /**
   * The greatest ratio in ms of the cycles through a unit. `option` is -1 where a unit is open; units whose `group`
   * numbers are equal pay no lag.
   */
  ratioAt(unit: number, option: Int32Array, group: Int32Array): number
  /**
   * The same for a host that holds the units marked `inside`, while the others stand elsewhere, with all lags: each side
   * of a cycle gets a part of the period by what its units need at least, times their claim. Hosts that all keep to this keep the cycle.
   */
  shareAt(unit: number, option: Int32Array, group: Int32Array, inside: Uint8Array): number
}

interface Cycle {
  readonly lambda: number
  /** Tasks on the CPU: their time never changes. */
  readonly fixedMs: number
  readonly stops: readonly {
    readonly unit: number
    readonly slot: number
    readonly leastMs: number
  }[]
  readonly lags: readonly { readonly from: number; readonly to: number; readonly ms: number }[]
}

export function cyclesOfUnits(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  claim: (unit: number) => number = () => 1,
): CyclesOfUnits {
  const claims = units.map((_, unit) => claim(unit))
  const unitOf = graph.tasks.map((_, task) => units.findIndex((unit) => unit.tasks.includes(task)))
  const edges = graph.dependences
  const loops = edges.map((edge) => (repeats(graph, edge) ? edge : { from: 0, to: -1, lambda: 0 }))
  const { latencyMs, gibPerSecond } = machine.links.intraHost
  const cycles = (elementaryCycles(graph.tasks.length, loops) ?? []).map((shape): Cycle => {
    const stops: Cycle['stops'][number][] = []
    let fixedMs = 0
    for (const index of shape.edges) {
      const task = edges[index]!.from
      const unit = unitOf[task]!
      if (unit === -1) {
        fixedMs += timeOf(graph.tasks[task]!.node, 'cpu', 1)!
        continue
      }
      const slot = units[unit]!.tasks.indexOf(task)
      const leastMs = Math.min(...units[unit]!.options.map((option) => option.tauMs[slot]!))
      stops.push({ unit, slot, leastMs })
    }
    const lags = shape.edges.flatMap((index) => {
      const edge = edges[index]!
      const from = unitOf[edge.from]!
      const to = unitOf[edge.to]!
      const link = latencyMs + (edge.payloadBytes / 2 ** 30 / gibPerSecond) * 1000
      return from === to ? [] : [{ from, to, ms: edge.costMs ?? link }]
    })
    return { lambda: shape.lambda, fixedMs, stops, lags }
  })
  const through = units.map((_, unit) =>
    cycles.filter((cycle) => cycle.stops.some((stop) => stop.unit === unit)),
  )
  const spent = (cycle: Cycle, option: Int32Array): number => {
    let sum = 0
    for (const { unit, slot, leastMs } of cycle.stops)
      sum += option[unit] === -1 ? leastMs : units[unit]!.options[option[unit]!]!.tauMs[slot]!
    return sum
  }
  const ratioAt = (unit: number, option: Int32Array, group: Int32Array): number => {
    let ratio = 0
    for (const cycle of through[unit]!) {
      let weight = cycle.fixedMs + spent(cycle, option)
      for (const { from, to, ms } of cycle.lags) if (apart(from, to, option, group)) weight += ms
      if (weight > ratio * cycle.lambda) ratio = weight / cycle.lambda
    }
    return ratio
  }
  return {
    ratioAt,
    shareAt(unit, option, group, inside) {
      let ratio = ratioAt(unit, option, group)
      for (const cycle of through[unit]!) {
        let least = 0
        let here = 0
        let spentHere = 0
        for (const { unit: at, slot, leastMs } of cycle.stops) {
          least += leastMs * claims[at]!
          if (inside[at] === 0) continue
          here += leastMs * claims[at]!
          const chosen = option[at]!
          spentHere += chosen === -1 ? leastMs : units[at]!.options[chosen]!.tauMs[slot]!
        }
        if (here === least) continue
        let weight = cycle.fixedMs + (spentHere * least) / here
        for (const { ms } of cycle.lags) weight += ms
        if (weight > ratio * cycle.lambda) ratio = weight / cycle.lambda
      }
      return ratio
    },
  }
}

/** Whether two ends are known to stand on different groups; the CPU is a group of its own. */
function apart(from: number, to: number, option: Int32Array, group: Int32Array): boolean {
  if (from === -1) return option[to] !== -1
  if (to === -1) return option[from] !== -1
  return option[from] !== -1 && option[to] !== -1 && group[from] !== group[to]
}
