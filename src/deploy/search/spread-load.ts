/**
 * @module
 * Spreads work over many GPUs, where the proof is out of reach: takes a few units out and puts each back where the loads
 * come out most even, again and again. The measure is a high norm of the loads, which falls smoothly where their
 * maximum, the period, stands still.
 */
import type { Machine } from '../bounds/machine.js'
import type { Found } from './best-list.js'
import { candidateGroups, type OverlapRule } from './candidate-groups.js'
import { type Assignment, assign, type SearchState, snapshot, stateOf } from './search-state.js'
import type { Unit } from './units.js'

const NORM = 48

export interface SpreadOptions {
  readonly overlap: OverlapRule
  readonly random: () => number
  /** Groups looked at; the caller's budget. */
  readonly budget: { nodes: number }
}

/** Assignments better than the one before, in the order found. */
export function* spreadLoad(
  units: readonly Unit[],
  machine: Machine,
  start: Found,
  options: SpreadOptions,
): Generator<SearchState> {
  const { random, budget } = options
  let current: Assignment = start.assignment
  const first = stateOf(units, machine, current)
  const scale = Math.max(...first.loadMs)
  let value = norm(first, scale)
  let peak = scale
  while (budget.nodes > 0) {
    const out = pickUnits(units, current, machine, random)
    const state = stateOf(units, machine, current, (unit) => !out.includes(unit))
    if (!putBack(state, out, scale, options)) continue
    const next = norm(state, scale)
    // A little worse is taken at times, so that the search leaves a dead end.
    if (next > value * (1 + random() ** 4)) continue
    value = next
    current = snapshot(state)
    const highest = Math.max(...state.loadMs)
    if (highest < peak * (1 - 1e-9)) {
      peak = highest
      yield state
    }
  }
}

/** Puts units back one by one at the lowest norm; false when one fits nowhere. */
function putBack(
  state: SearchState,
  out: readonly number[],
  scale: number,
  { overlap, budget }: SpreadOptions,
): boolean {
  for (const unit of out) {
    let best: { option: number; gpus: readonly number[] } | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [option, spec] of state.units[unit]!.options.entries())
      for (const gpus of candidateGroups(state, spec, overlap)) {
        budget.nodes -= 1
        let added = 0
        for (const gpu of gpus) {
          const before = state.loadMs[gpu]! / scale
          added += (before + spec.loadMs / scale) ** NORM - before ** NORM
        }
        // Work on more GPUs is work all the same: among equal peaks, less of it leaves more room.
        const cost = added + (1e-6 * gpus.length * spec.loadMs) / scale
        if (cost < least) {
          least = cost
          best = { option, gpus }
        }
      }
    if (best === undefined) return false
    assign(state, unit, best.option, best.gpus)
  }
  return true
}

/** Two to five units: one from the busiest GPUs, the others from anywhere. */
function pickUnits(
  units: readonly Unit[],
  current: Assignment,
  machine: Machine,
  random: () => number,
): number[] {
  const load = new Array<number>(machine.gpus.length).fill(0)
  current.gpus.forEach((gpus, unit) => {
    for (const gpu of gpus) load[gpu]! += units[unit]!.options[current.option[unit]!]!.loadMs
  })
  const peak = Math.max(...load)
  const hot = units.flatMap((_, unit) =>
    current.gpus[unit]!.some((gpu) => load[gpu]! > 0.98 * peak) ? [unit] : [],
  )
  const size = Math.min(units.length, 2 + Math.floor(random() * 4))
  const out = new Set<number>()
  if (hot.length > 0) out.add(hot[Math.floor(random() * hot.length)]!)
  while (out.size < size) out.add(Math.floor(random() * units.length))
  return [...out].sort(() => random() - 0.5)
}

function norm(state: SearchState, scale: number): number {
  let sum = 0
  for (const load of state.loadMs) sum += (load / scale) ** NORM
  return sum
}
