/**
 * @module
 * Shortens the first output of a large pipeline: unit after unit moves to the group where the first output of the list
 * schedule comes soonest; when no move helps, a few units are thrown elsewhere and it starts again from there.
 */
import type { Machine } from '../bounds/machine.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { candidateGroups, type OverlapRule } from './candidate-groups.js'
import { firstOutput } from './first-output.js'
import { type Assignment, type SearchState, stateOf } from './search-state.js'
import type { Unit } from './units.js'

export interface ShortenLatencyOptions {
  readonly overlap: OverlapRule
  readonly random: () => number
  /** Placements measured. */
  readonly looks: number
  /** No placement is below this, in ms: once reached, the search ends. */
  readonly lowerMs: number
  readonly offer: (state: SearchState) => void
}

/** The best assignment found and its first output in ms. */
export function shortenLatency(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  start: Assignment,
  options: ShortenLatencyOptions,
): { readonly assignment: Assignment; readonly firstOutputMs: number } {
  const { random, overlap } = options
  const output = firstOutput(graph, machine, units)
  const movable = units.flatMap((_, unit) => (output.needed[unit] ? [unit] : []))
  let looks = options.looks
  /** Tries every group for one unit; the best one, sideways steps included. */
  const improve = (from: Assignment, value: number, unit: number): [Assignment, number] => {
    const state = stateOf(units, machine, from, (other) => other !== unit)
    let best = from
    let least = value
    let ties = 1
    for (const [option, spec] of units[unit]!.options.entries())
      for (const gpus of candidateGroups(state, spec, overlap)) {
        looks -= 1
        const next = withUnit(from, unit, option, gpus)
        const ms = output.measure(next)
        const slack = 1e-9 * Math.max(1, least)
        if (ms > least + slack) continue
        ties = ms < least - slack ? 1 : ties + 1
        if (random() * ties > 1) continue
        least = Math.min(ms, least)
        best = next
      }
    return [best, least]
  }
  let best = start
  let bestMs = output.measure(start)
  let now = best
  let nowMs = bestMs
  let still = 0
  while (looks > 0 && bestMs > options.lowerMs * (1 + 1e-9) && movable.length > 0) {
    const unit = movable[Math.floor(random() * movable.length)]!
    const [next, ms] = improve(now, nowMs, unit)
    still = ms < nowMs * (1 - 1e-9) ? 0 : still + 1
    now = next
    nowMs = ms
    if (nowMs < bestMs * (1 - 1e-9)) {
      best = now
      bestMs = nowMs
      options.offer(stateOf(units, machine, best))
    }
    if (still <= movable.length) continue
    still = 0
    now = best
    for (let count = 0; count < 3; count += 1) {
      const thrown = movable[Math.floor(random() * movable.length)]!
      const state = stateOf(units, machine, now, (other) => other !== thrown)
      const option = Math.floor(random() * units[thrown]!.options.length)
      const groups = candidateGroups(state, units[thrown]!.options[option]!, overlap)
      const gpus = groups[Math.floor(random() * groups.length)]
      if (gpus !== undefined) now = withUnit(now, thrown, option, gpus)
    }
    nowMs = output.measure(now)
  }
  return { assignment: best, firstOutputMs: bestMs }
}

function withUnit(
  from: Assignment,
  unit: number,
  option: number,
  gpus: readonly number[],
): Assignment {
  const options = [...from.option]
  const groups = [...from.gpus]
  options[unit] = option
  groups[unit] = gpus
  return { option: options, gpus: groups }
}
