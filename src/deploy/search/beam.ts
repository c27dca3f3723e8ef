/**
 * @module
 * A first good placement, fast: the same steps as the exact search, but only the `width` most promising partial
 * placements live on at each depth.
 */
import type { BestList } from './best-list.js'
import { shapeOf } from './best-list.js'
import type { BranchOptions } from './branch-and-bound.js'
import { candidateGroups } from './candidate-groups.js'
import { compareKeys, type Key, keyOf } from './objective.js'
import type { Scorer } from './scorer.js'
import { assign, cloneState, type SearchState, unassign } from './search-state.js'

export function beamSearch(
  root: SearchState,
  order: readonly number[],
  scorer: Scorer,
  best: BestList,
  options: BranchOptions,
  width: number,
): void {
  const overstep = options.objective.kind === 'memory'
  const limit = options.objective.maxPeriodMs ?? Number.POSITIVE_INFINITY
  let front: SearchState[] = [root]
  order.forEach((unit, depth) => {
    const whole = depth === order.length - 1
    const steps: { from: SearchState; option: number; gpus: readonly number[]; key: Key }[] = []
    for (const state of front)
      for (const [option, spec] of state.units[unit]!.options.entries())
        for (const gpus of candidateGroups(state, spec, options.overlap, overstep)) {
          const undo = assign(state, unit, option, gpus)
          let score = scorer.score(state, limit)
          if (whole) score = options.finish(state, score)
          const key = keyOf(options.objective, score)
          if (score.periodMs <= limit * (1 + 1e-9) && Number.isFinite(key[0])) {
            if (whole) best.offer(state, key, score)
            // Among equals, what spreads load and keeps memory free leaves more room for the rest.
            else steps.push({ from: state, option, gpus, key: [...key, crowding(state)] })
          }
          unassign(state, unit, undo)
        }
    steps.sort((a, b) => compareKeys(a.key, b.key))
    const seen = new Set<string>()
    front = []
    for (const step of steps) {
      if (front.length >= width) break
      const state = cloneState(step.from)
      assign(state, unit, step.option, step.gpus)
      const shape = shapeOf(state)
      if (seen.has(shape)) continue
      seen.add(shape)
      front.push(state)
    }
  })
}

/** Sum of squared loads: small when work is spread evenly. */
function crowding(state: SearchState): number {
  let sum = 0
  for (const load of state.loadMs) sum += load * load
  return sum
}
