/**
 * @module
 * The front of latency and rate. Both ends are searches of their own, the same ones as for `latency` and `rate`. Between
 * them the cap on the period comes down step by step; each step looks for the lowest latency under it. A placement whose
 * latency falls as its period grows counts with its two ends, not with the line between them. What a cap rules out is
 * kept as a corner that nothing can beat: where no schedule reaches a corner, the front says how far it stays away.
 */

import { attainOne, proof, type Task } from './attain.js'
import type { Found } from './best-list.js'
import { explainPlan } from './explain.js'
import type { Objective } from './objective.js'
import type { Front, Plan } from './plan.js'
import { type SearchResult, search } from './search.js'

/** Steps of the cap: all of them where searches are proofs, few where each only narrows. */
const MAX_STEPS = 200
const COARSE_STEPS = 6
/** Below the comparison's slack nothing new is found. */
const STEP = 1e-7
const NEAR = 1 + 1e-9
/** Stands where the proof of a point is still to come. */
const UNPROVEN = 1

interface Corner {
  readonly periodMs: number
  readonly latencyMs: number
}

export function paretoFront(
  task: Task,
  maxPeriodMs: number | undefined,
): { readonly plans: readonly Plan[]; readonly front: Front } {
  const limit = maxPeriodMs === undefined ? {} : { maxPeriodMs }
  const pool: Plan[] = []
  const corners: Corner[] = []
  const known = new Set<string>()
  const lookFor = (objective: Objective): SearchResult => {
    const { graph, machine, units, options } = task
    return search(graph, machine, units, objective, options)
  }
  /** Schedules placements until one reaches its bounds; true when the first did. */
  const attain = (found: readonly Found[], cap: number | undefined): void => {
    for (const one of found) {
      const key = `${one.shape}@${one.score.settled ? '' : cap}`
      if (!known.has(key)) {
        known.add(key)
        pool.push(
          attainOne(task, one, 'latency', cap, UNPROVEN),
          attainOne(task, one, 'period', cap, UNPROVEN),
        )
      }
      const [latencyMs, periodMs] = cornerOf(one)
      const reached = pool.some(
        (plan) => plan.latencyMs <= latencyMs * NEAR && plan.periodMs <= periodMs * NEAR,
      )
      if (reached) return
    }
  }
  const fastest = lookFor({ kind: 'rate', ...limit })
  if (fastest.found.length === 0) return { plans: [], front: NOTHING }
  for (const one of fastest.found) pool.push(attainOne(task, one, 'period', maxPeriodMs, UNPROVEN))
  const calmest = lookFor({ kind: 'latency', ...limit })
  for (const one of calmest.found) pool.push(attainOne(task, one, 'latency', maxPeriodMs, UNPROVEN))
  let exact = fastest.complete && calmest.complete
  const shortestMs = fastest.lowerMs
  const bottomMs = Math.min(...pool.map((plan) => plan.periodMs))
  let cap = maxPeriodMs ?? Number.POSITIVE_INFINITY
  let steps = 0
  let coarse = 0
  while (steps < (exact ? MAX_STEPS : COARSE_STEPS) && cap > shortestMs && !expired(task)) {
    steps += 1
    const result = lookFor({
      kind: 'corner',
      ...(Number.isFinite(cap) && { maxPeriodMs: cap }),
    })
    exact &&= result.complete
    const [best] = result.found
    if (best === undefined) break
    attain(result.found, Number.isFinite(cap) ? cap : undefined)
    let next = cornerOf(best)[1]
    if (!exact) {
      // The way down to the shortest period in equal ratios.
      coarse ||= (bottomMs / next) ** (1 / COARSE_STEPS)
      next = Math.min(next, Number.isFinite(cap) ? cap * coarse : next)
    }
    corners.push({ periodMs: Math.max(next, shortestMs), latencyMs: result.lowerMs })
    cap = next * (1 - STEP)
  }
  if (cap > shortestMs * (1 + STEP))
    corners.push({ periodMs: shortestMs, latencyMs: corners.at(-1)?.latencyMs ?? calmest.lowerMs })
  const front = undominated(
    pool.filter((plan) => maxPeriodMs === undefined || plan.periodMs <= maxPeriodMs * (1 + 1e-6)),
  )
  const plans = exact
    ? provenFront(task, front, lookFor, pool)
    : front.map((plan) => ({
        ...plan,
        ...proof(plan.latencyMs, calmest.lowerMs),
      }))
  return {
    plans: plans.map((one, index) => ({
      ...one,
      why: explainPlan(task.graph, one, plans[index === 0 ? 1 : index - 1]),
    })),
    front: frontOf(plans, corners, calmest.lowerMs, shortestMs),
  }
}

const NOTHING: Front = { complete: true, gap: 0, latencyGap: 0, periodGap: 0 }

/** Latency and period of the end that a placement counts with. */
function cornerOf({ score }: Found): readonly [latencyMs: number, periodMs: number] {
  return score.settled
    ? [score.latencyMs, score.latencyPeriodMs]
    : [score.firstOutputMs, score.periodMs]
}

/** Every point with its own proof; what turns up on the way that is better than one of them takes its place. */
function provenFront(
  task: Task,
  front: readonly Plan[],
  lookFor: (objective: Objective) => SearchResult,
  pool: Plan[],
): Plan[] {
  const plans = front.map((plan) => proven(task, plan, lookFor, pool))
  const others = pool.filter((plan) => !front.includes(plan))
  return undominated([...plans, ...others]).map((plan) =>
    plan.lowerMs === UNPROVEN ? proven(task, plan, lookFor, pool) : plan,
  )
}

/** A point with the proof that nothing has a lower latency at its period, or the distance to that. */
function proven(
  task: Task,
  plan: Plan,
  lookFor: (objective: Objective) => SearchResult,
  pool: Plan[],
): Plan {
  const maxPeriodMs = plan.periodMs * (1 + 1e-9)
  const result = lookFor({ kind: 'latency', maxPeriodMs })
  const [best] = result.found
  // On the line between a placement's two ends there may be something better than an end of another.
  if (best !== undefined && best.score.latencyMs < plan.latencyMs * (1 - 1e-9))
    pool.push(attainOne(task, best, 'latency', maxPeriodMs, UNPROVEN))
  return { ...plan, ...proof(plan.latencyMs, result.lowerMs) }
}

function undominated(pool: readonly Plan[]): Plan[] {
  const sorted = [...pool].sort((a, b) => a.latencyMs - b.latencyMs || a.periodMs - b.periodMs)
  const front: Plan[] = []
  for (const plan of sorted) {
    const last = front.at(-1)
    if (last !== undefined && plan.periodMs * NEAR >= last.periodMs) continue
    // Within rounding the same latency, and a shorter period.
    if (last !== undefined && plan.latencyMs <= last.latencyMs * NEAR) front.pop()
    front.push(plan)
  }
  return front
}

/** How far the front may be from all that the corners leave possible. */
function frontOf(
  front: readonly Plan[],
  corners: readonly Corner[],
  lowestMs: number,
  shortestMs: number,
): Front {
  let gap = 0
  for (const corner of corners) {
    let nearest = Number.POSITIVE_INFINITY
    for (const plan of front) {
      const away = Math.max(
        plan.latencyMs / corner.latencyMs - 1,
        plan.periodMs / corner.periodMs - 1,
      )
      if (away < nearest) nearest = away
    }
    gap = Math.max(gap, nearest)
  }
  const first = front[0]!
  const last = front.at(-1)!
  const of = (value: number, bound: number): number => proof(value, bound).gap
  return {
    complete: gap < 1e-6,
    gap: gap < 1e-6 ? 0 : gap,
    latencyGap: of(first.latencyMs, lowestMs),
    periodGap: of(last.periodMs, shortestMs),
  }
}

function expired(task: Task): boolean {
  return task.options.expired?.() === true
}
