/**
 * @module
 * One good placement of very many units, in one pass: too many for any search that looks at whole placements. For a short
 * period the heaviest come first, each to where the busiest GPU stays least busy; for a low first output they come in the
 * order of the data, each to where it ends soonest. Groups are blocks of neighbouring GPUs, so that they nest.
 */
import type { Machine } from '../bounds/machine.js'
import { lagMs } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { OverlapRule } from './candidate-groups.js'
import { addedGiB, assign, emptyState, type SearchState } from './search-state.js'
import type { Unit } from './units.js'

export interface LargeOptions {
  readonly kind: 'rate' | 'latency'
  readonly overlap: OverlapRule
  /** No GPU may get more work per batch than this, in ms. */
  readonly maxLoadMs: number
}

/** Undefined where a unit finds no place any more. */
export function largePlacement(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  options: LargeOptions,
): SearchState | undefined {
  const state = emptyState(units, machine)
  const first = units.map((unit) => Math.min(...unit.tasks))
  const weight = units.map((unit) =>
    Math.min(...unit.options.map((option) => option.loadMs * option.degree)),
  )
  const order = units.map((_, unit) => unit)
  order.sort((a, b) => (options.kind === 'rate' ? weight[b]! - weight[a]! : first[a]! - first[b]!))
  const into = graph.tasks.map(() => [] as number[])
  graph.dependences.forEach((edge, index) => {
    if (edge.lambda === 0) into[edge.to]!.push(index)
  })
  const freeMs = new Float64Array(machine.gpus.length)
  const endMs = new Float64Array(graph.tasks.length)
  const setOf: (readonly number[] | undefined)[] = graph.tasks.map(() => undefined)
  const blocks = new Map<string, (readonly number[])[]>()
  for (const unit of order) {
    let best: { option: number; gpus: readonly number[]; cost: number; tie: number } | undefined
    for (const [option, spec] of units[unit]!.options.entries()) {
      const key = `${spec.hardware}/${spec.degree}`
      if (!blocks.has(key)) blocks.set(key, blocksOf(machine, spec.hardware, spec.degree))
      for (const gpus of blocks.get(key)!) {
        let loadMs = 0
        let readyMs = 0
        let fits = true
        for (const gpu of gpus) {
          loadMs = Math.max(loadMs, state.loadMs[gpu]!)
          readyMs = Math.max(readyMs, freeMs[gpu]!)
          const full = state.memoryGiB[gpu]! + addedGiB(state, spec, gpu)
          if (full > machine.gpus[gpu]!.memoryGiB * (1 + 1e-12)) fits = false
        }
        loadMs += spec.loadMs
        if (!fits || loadMs > options.maxLoadMs * (1 + 1e-9)) continue
        if (!mayStand(state, gpus, options.overlap)) continue
        if (options.kind === 'latency')
          for (const [slot, task] of units[unit]!.tasks.entries()) {
            for (const index of into[task]!) {
              const edge = graph.dependences[index]!
              const from = setOf[edge.from]
              const lag = from === undefined ? 0 : lagMs(edge, from, gpus, machine)
              readyMs = Math.max(readyMs, endMs[edge.from]! + lag)
            }
            readyMs += spec.tauMs[slot]!
          }
        // Work on several GPUs costs them all: between equals the smaller group leaves more for the rest.
        const cost = options.kind === 'latency' ? readyMs : loadMs
        const tie = spec.loadMs * spec.degree
        const slack = 1e-9 * Math.max(1, cost)
        if (
          best === undefined ||
          cost < best.cost - slack ||
          (cost <= best.cost + slack && tie < best.tie)
        )
          best = { option, gpus, cost, tie }
      }
    }
    if (best === undefined) return undefined
    assign(state, unit, best.option, best.gpus)
    const spec = units[unit]!.options[best.option]!
    const total = spec.tauMs.reduce((sum, tau) => sum + tau, 0)
    let at = best.cost - total
    for (const [slot, task] of units[unit]!.tasks.entries()) {
      at += spec.tauMs[slot]!
      endMs[task] = at
      setOf[task] = best.gpus
    }
    for (const gpu of best.gpus) freeMs[gpu] = at
  }
  return state
}

/** Groups of a size: blocks that begin at multiples of it, host by host; over hosts only where none is wide enough. */
function blocksOf(machine: Machine, hardware: string, degree: number): (readonly number[])[] {
  const hosts = new Map<number, number[]>()
  machine.gpus.forEach((gpu, index) => {
    if (gpu.hardware === hardware) hosts.set(gpu.host, [...(hosts.get(gpu.host) ?? []), index])
  })
  const pools = [...hosts.values()]
  const inside = pools.filter((gpus) => gpus.length >= degree)
  return (inside.length > 0 ? inside : [pools.flat()]).flatMap((gpus) =>
    Array.from({ length: Math.floor(gpus.length / degree) }, (_, block) =>
      gpus.slice(block * degree, (block + 1) * degree),
    ),
  )
}

function mayStand(state: SearchState, gpus: readonly number[], overlap: OverlapRule): boolean {
  if (overlap === 'any') return true
  for (const { gpus: other, users } of state.groups) {
    if (users === 0) continue
    let common = 0
    for (const gpu of gpus) if (other.includes(gpu)) common += 1
    if (common === 0 || (common === gpus.length && common === other.length)) continue
    if (overlap === 'disjoint' || (common !== gpus.length && common !== other.length)) return false
  }
  return true
}
