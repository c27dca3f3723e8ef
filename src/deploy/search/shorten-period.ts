/**
 * @module
 * Closes in on the shortest period of a large pipeline from both sides, host by host: packings at shorter and shorter
 * periods, then refutations of longer and longer ones.
 */
import type { Machine } from '../bounds/machine.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { OverlapRule } from './candidate-groups.js'
import { type HostBin, hostBins } from './host-bins.js'
import { type PatternStore, refutesPeriod } from './host-bound.js'
import type { PackBudget } from './host-packing.js'
import { type SearchState, stateOf } from './search-state.js'
import { packHosts } from './spread-hosts.js'
import { cyclesOfUnits } from './unit-cycles.js'
import type { Unit } from './units.js'

/** Guesses of how hosts share cycles, and packings of one period whose schedule may fail. */
const ROUNDS = 12
const TRIES = 4
/** Packings of one guess; a step may come from the table and cost nothing. */
const STEPS = 60

export interface ShortenOptions {
  readonly overlap: OverlapRule
  readonly random: () => number
  /** Looks for packings, and for the proof. */
  readonly packNodes: number
  readonly proofNodes: number
  /** A bound known already, in ms. */
  readonly floorMs: number
  /** Called with every packing; returns the period that a schedule of it attains, in ms; infinite when it misses by far. */
  readonly offer: (state: SearchState) => number
}

/** A lower bound of the period over all placements, in ms; undefined where hosts are no bins. */
export function shortenPeriod(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  options: ShortenOptions,
): number | undefined {
  const { overlap, floorMs } = options
  const budget: PackBudget = { nodes: options.packNodes }
  let bestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round += 1) {
    // How two hosts share the time of a cycle is a guess: each round guesses anew.
    const claim = (): number => (round === 0 ? 1 : 0.6 + options.random() * 0.8)
    const cycles = cyclesOfUnits(graph, machine, units, claim)
    const bins = hostBins(machine, units, cycles, overlap, budget, true)
    if (bins === undefined || !(floorMs > 0)) return undefined
    bestMs = descend(machine, units, bins, budget, bestMs, options)
  }
  if (!Number.isFinite(bestMs)) return floorMs
  const left: PackBudget = { nodes: options.proofNodes }
  const cycles = cyclesOfUnits(graph, machine, units)
  const free = hostBins(machine, units, cycles, overlap, left, false)!
  return ascend(free, units.length, bestMs, floorMs, left)
}

/** Steps down from the best period known; a step that fails is halved. */
function descend(
  machine: Machine,
  units: readonly Unit[],
  bins: readonly HostBin[],
  budget: PackBudget,
  bestMs: number,
  { floorMs, random, offer }: ShortenOptions,
): number {
  let best = bestMs
  let low = floorMs
  let missed = 0
  const options = { bins, units: units.length, random, budget, moves: 500 }
  for (let step = 0; step < STEPS && budget.nodes > 0 && best > low * 1.003; step += 1) {
    const target = Number.isFinite(best) ? Math.max(low, (3 * best + low) / 4) : low * 1.2
    const found = packHosts(target, options)
    if (found === undefined) {
      low = Number.isFinite(best) ? target : low * 1.1
      continue
    }
    const periodMs = offer(stateOf(units, machine, found.assignment))
    best = Math.min(best, periodMs)
    if (periodMs <= target * (1 + 1e-9)) missed = 0
    else missed += 1
    // The packing is there and its schedule is not: another packing may have one.
    if (missed >= TRIES) {
      missed = 0
      low = Number.isFinite(best) ? target : low * 1.1
    }
  }
  return best
}

/** Refutes what would make the gap small first, then halves what is left. */
function ascend(
  bins: readonly HostBin[],
  units: number,
  bestMs: number,
  floorMs: number,
  budget: PackBudget,
): number {
  const patterns: PatternStore = []
  const spare = budget.nodes / 6
  let low = floorMs
  let high = bestMs
  let period = Math.max(bestMs / 1.049, low)
  for (let round = 0; round < 5 && budget.nodes > 0 && high > low * 1.002; round += 1) {
    if (refutesPeriod(bins, units, period, patterns, budget)) low = period
    else high = period
    // The first answer is what a gap of 4.9 per cent needs; a part of the budget for more.
    if (round === 0 && low === period) budget.nodes = Math.min(budget.nodes, spare)
    period = (low + high) / 2
  }
  return low
}
