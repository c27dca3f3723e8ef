/**
 * @module
 * Exact search: units one after another, every option on every kind of group, cut where the lower bound cannot get in.
 * Complete within its budget of nodes, it proves the best placement; otherwise what it found still stands.
 */
import type { BestList } from './best-list.js'
import { candidateGroups, type OverlapRule } from './candidate-groups.js'
import { compareKeys, type Key, keyOf, type Objective } from './objective.js'
import type { Score, Scorer } from './scorer.js'
import { assign, type SearchState, unassign } from './search-state.js'

export interface BranchBudget {
  /** Partial placements looked at; shared by whoever holds this record. */
  nodes: number
  /** Asked every few hundred of them; true ends the search as an empty budget does. */
  readonly expired?: (() => boolean) | undefined
}

export interface BranchOptions {
  readonly objective: Objective
  readonly overlap: OverlapRule
  /** Corrects the score of a whole placement (cycles that were not listed). */
  readonly finish: (state: SearchState, score: Score) => Score
}

/** Completes `state` in the best ways into `best`. Returns false when the budget ran out first. */
export function branchAndBound(
  state: SearchState,
  order: readonly number[],
  scorer: Scorer,
  best: BestList,
  options: BranchOptions,
  budget: BranchBudget,
): boolean {
  const overstep = options.objective.kind === 'memory'
  const limit = options.objective.maxPeriodMs ?? Number.POSITIVE_INFINITY
  const capOf = (): number =>
    // A period above the best one known cannot win when the rate comes first.
    options.objective.kind === 'rate' && best.worst !== undefined
      ? Math.min(limit, best.worst[0]! * (1 + 1e-9))
      : limit
  const visit = (depth: number): boolean => {
    if (depth === order.length) return true
    const unit = order[depth]!
    const next: { option: number; gpus: readonly number[]; key: Key }[] = []
    for (const [option, spec] of state.units[unit]!.options.entries()) {
      if (spec.loadMs > capOf() * (1 + 1e-9)) continue
      for (const gpus of candidateGroups(state, spec, options.overlap, overstep)) {
        if (budget.nodes <= 0) return false
        budget.nodes -= 1
        if (budget.nodes % 256 === 0 && budget.expired?.() === true) budget.nodes = 0
        const undo = assign(state, unit, option, gpus)
        let score = scorer.score(state, capOf())
        const whole = depth === order.length - 1
        if (whole) score = options.finish(state, score)
        const key = keyOf(options.objective, score)
        if (score.periodMs <= limit * (1 + 1e-9) && Number.isFinite(key[0]) && best.admits(key)) {
          if (whole) best.offer(state, key, score)
          else next.push({ option, gpus, key })
        }
        unassign(state, unit, undo)
      }
    }
    next.sort((a, b) => compareKeys(a.key, b.key))
    for (const step of next) {
      if (!best.admits(step.key)) break
      const undo = assign(state, unit, step.option, step.gpus)
      const complete = visit(depth + 1)
      unassign(state, unit, undo)
      if (!complete) return false
    }
    return true
  }
  return visit(0)
}
