/**
 * @module
 * The search over placements: a beam for a first answer, branch and bound for the proof, and, where that is too large,
 * repair of small neighbourhoods until the budget of nodes is spent. Same input, same seed: same answer.
 */
import { cycleBound } from '../bounds/cycle-bound.js'
import { deploymentBounds, lowestLatency } from '../bounds/deployment-bounds.js'
import type { Machine } from '../bounds/machine.js'
import { pathBound } from '../bounds/path-bound.js'
import { applyPlacement, type Placement, timeOf } from '../bounds/placement.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { scheduleAt } from '../schedule/cyclic-schedule.js'
import { seededRandom } from '../seeded-random.js'
import { beamSearch } from './beam.js'
import { bestList, type Found, shapeOf } from './best-list.js'
import { type BranchOptions, branchAndBound } from './branch-and-bound.js'
import type { OverlapRule } from './candidate-groups.js'
import { largePlacement } from './large-placement.js'
import { keyOf, type Objective } from './objective.js'
import { packingBound } from './packing-bound.js'
import { periodLowerBound } from './period-lower-bound.js'
import { type Score, scorer } from './scorer.js'
import { emptyState, type SearchState, snapshot, stateOf } from './search-state.js'
import { shortenLatency } from './shorten-latency.js'
import { shortenPeriod } from './shorten-period.js'
import { spreadLoad } from './spread-load.js'
import type { Unit } from './units.js'

export interface SearchOptions {
  /** @default 'nested' */
  readonly overlap?: OverlapRule
  /** Partial placements to look at before giving up the proof. @default 300000 */
  readonly nodes?: number
  /** Placements kept beside the best. @default 6 */
  readonly keep?: number
  /** @default 24, and 8 above 16 units */
  readonly beamWidth?: number
  /** @default 1 */
  readonly seed?: number
  /** Asked now and then: once true, the search ends with what it has. @default never */
  readonly expired?: () => boolean
}

export interface SearchResult {
  /** Best first; empty when nothing fits. */
  readonly found: readonly Found[]
  /** True when everything else was ruled out. */
  readonly complete: boolean
  /** No placement has a smaller first key entry than this (period or first-output latency, in ms). */
  readonly lowerMs: number
  readonly nodes: number
}

/** Units above which a placement is made in one pass. */
const LARGE = 64
/** Looks of the load spreading per node of the budget. */
const SPREAD_LOOKS = 6
/** Looks of the packing of hosts and of its proof per node of the budget: bit masks are cheap. */
const PACK_LOOKS = 30
const PROOF_LOOKS = 180

export function search(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  objective: Objective,
  options: SearchOptions = {},
): SearchResult {
  const overlap = options.overlap ?? 'nested'
  const best = bestList(options.keep ?? 6)
  const scores = scorer(graph, machine, units)
  const order = units.map((_, unit) => unit).sort((a, b) => weight(units[b]!) - weight(units[a]!))
  const finish = scores.cyclesListed
    ? (_: SearchState, score: Score) => score
    : (state: SearchState, score: Score) =>
        finishByBounds(graph, machine, state, score, objective.maxPeriodMs)
  const branch: BranchOptions = { objective, overlap, finish }
  const root = emptyState(units, machine)
  const rootKey = keyOf(objective, scores.score(root))
  if (units.length === 0) {
    const score = finish(root, scores.score(root))
    best.offer(root, keyOf(objective, score), score)
    return { found: best.found, complete: true, lowerMs: best.found[0]!.key[0]!, nodes: 1 }
  }
  if (units.length > LARGE) {
    const state = largePlacement(graph, machine, units, {
      kind: objective.kind === 'rate' ? 'rate' : 'latency',
      overlap,
      maxLoadMs: objective.maxPeriodMs ?? Number.POSITIVE_INFINITY,
    })
    const floorMs =
      objective.kind === 'rate'
        ? Math.max(
            periodLowerBound(units, machine.gpus.length, rootKey[0]!),
            cycleLowerBound(graph, units),
          )
        : rootKey[0]!
    if (state !== undefined) {
      const score = finish(state, scores.score(state, objective.maxPeriodMs))
      best.offer(state, keyOf(objective, score), score)
    }
    return { found: best.found, complete: false, lowerMs: floorMs, nodes: units.length }
  }
  const total = options.nodes ?? 300_000
  const budget = { nodes: total }
  beamSearch(root, order, scores, best, branch, options.beamWidth ?? (units.length > 16 ? 8 : 24))
  // A part of the budget for the proof; if that does not do, the rest improves the answer.
  const part = Math.ceil(total / (units.length > 16 ? 8 : 2))
  const proof = { nodes: part, expired: options.expired }
  const complete = branchAndBound(root, order, scores, best, branch, proof)
  budget.nodes -= part - proof.nodes
  const random = seededRandom(options.seed ?? 1).uniform
  let lowerMs = rootKey[0]!
  let scheduled: Found | undefined
  const offer = (state: SearchState): Found => {
    const score = finish(state, scores.score(state))
    const key = keyOf(objective, score)
    best.offer(state, key, score)
    return { key, score, assignment: snapshot(state), shape: shapeOf(state) }
  }
  if (!complete && objective.kind === 'rate') {
    const floorMs = Math.max(
      periodLowerBound(units, machine.gpus.length, lowerMs),
      cycleLowerBound(graph, units),
    )
    let reachedMs = Number.POSITIVE_INFINITY
    const proved = shortenPeriod(graph, machine, units, {
      overlap,
      random,
      floorMs,
      packNodes: total * PACK_LOOKS,
      proofNodes: total * PROOF_LOOKS,
      offer(state) {
        const found = offer(state)
        const limit = found.key[0]!
        if (limit >= reachedMs) return limit
        const timed = applyPlacement(graph, machine, placementOf(graph, units, found))
        for (const more of [1, 1.01])
          if (scheduleAt(timed, limit * more, { orders: 1 }) !== undefined) {
            if (limit * more < reachedMs) scheduled = found
            reachedMs = Math.min(reachedMs, limit * more)
            return limit * more
          }
        return Number.POSITIVE_INFINITY
      },
    })
    lowerMs = proved ?? packingBound(units, machine.gpus.length, floorMs)
    if (proved !== undefined) budget.nodes = Math.min(budget.nodes, total / 20)
    else if (best.found.length > 0) {
      // Such a look costs a hundredth of a scored placement.
      const share = { nodes: total * SPREAD_LOOKS }
      const settings = { overlap, random, budget: share }
      for (const state of spreadLoad(units, machine, best.found[0]!, settings)) offer(state)
    }
  }
  if (!complete && best.found.length > 0) {
    if (objective.kind === 'latency' && objective.maxPeriodMs === undefined && units.length > 16) {
      const { assignment } = shortenLatency(graph, machine, units, best.found[0]!.assignment, {
        overlap,
        random,
        looks: total / 2,
        lowerMs,
        offer,
      })
      scheduled = offer(stateOf(units, machine, assignment))
      budget.nodes = Math.min(budget.nodes, total / 20)
    }
    while (budget.nodes > 0 && options.expired?.() !== true) {
      const free = neighbourhood(best.found[0]!, units, machine, random)
      const state = stateOf(units, machine, best.found[0]!.assignment, (unit) => !free.has(unit))
      const share = { nodes: Math.min(budget.nodes, 4000), expired: options.expired }
      const given = share.nodes
      branchAndBound(
        state,
        order.filter((unit) => free.has(unit)),
        scores,
        best,
        branch,
        share,
      )
      budget.nodes -= Math.max(1, given - share.nodes)
    }
  }
  const known =
    scheduled !== undefined && best.found.some(({ shape }) => shape === scheduled?.shape)
  const found = scheduled === undefined || known ? best.found : [...best.found, scheduled]
  return {
    found,
    complete,
    lowerMs: complete ? (best.found[0]?.key[0] ?? lowerMs) : lowerMs,
    nodes: total - budget.nodes,
  }
}

/** The placement of a search result, by task path. */
export function placementOf(graph: TaskGraph, units: readonly Unit[], found: Found): Placement {
  const placement: Record<string, readonly number[]> = {}
  for (const [index, unit] of units.entries())
    for (const task of unit.tasks)
      placement[graph.tasks[task]!.path] = found.assignment.gpus[index]!
  return placement
}

/** The cycle bound with every unit at its best time and no lag: no placement has less. */
function cycleLowerBound(graph: TaskGraph, units: readonly Unit[]): number {
  const tauMs = graph.tasks.map((task, index) => {
    const unit = units.find((candidate) => candidate.tasks.includes(index))
    if (unit === undefined) return timeOf(task.node, 'cpu', 1)!
    const slot = unit.tasks.indexOf(index)
    return Math.min(...unit.options.map((option) => option.tauMs[slot]!))
  })
  const edges = graph.dependences.map(({ from, to, lambda }, origin) => ({
    from,
    to,
    lambda,
    kappaMs: 0,
    origin,
  }))
  const periodic = graph.tasks.map((task) => task.node.runs === 'batch')
  const none = { share: [], entries: [], outputs: [], resources: [], resourceCount: 0 }
  return cycleBound({ tauMs, edges, periodic, ...none }).periodMs
}

/** Units to take out and place anew: some on the busiest GPU, some anywhere. */
function neighbourhood(
  found: Found,
  units: readonly Unit[],
  machine: Machine,
  random: () => number,
): Set<number> {
  const load = new Array<number>(machine.gpus.length).fill(0)
  found.assignment.gpus.forEach((gpus, unit) => {
    for (const gpu of gpus)
      load[gpu]! += units[unit]!.options[found.assignment.option[unit]!]!.loadMs
  })
  const busiest = load.indexOf(Math.max(...load))
  const hot = units.flatMap((_, unit) =>
    found.assignment.gpus[unit]!.includes(busiest) ? [unit] : [],
  )
  const size = Math.min(units.length, 2 + Math.floor(random() * 3))
  const free = new Set<number>()
  if (random() < 0.7 && hot.length > 0) free.add(hot[Math.floor(random() * hot.length)]!)
  while (free.size < size) free.add(Math.floor(random() * units.length))
  return free
}

/** Widest and heaviest first: they are the hardest to fit in later. */
function weight(unit: Unit): number {
  return Math.min(...unit.options.map((option) => option.degree * option.loadMs))
}

function finishByBounds(
  graph: TaskGraph,
  machine: Machine,
  state: SearchState,
  score: Score,
  limitMs = Number.POSITIVE_INFINITY,
): Score {
  const placement: Record<string, readonly number[]> = {}
  for (const [index, unit] of state.units.entries())
    for (const task of unit.tasks)
      placement[graph.tasks[task]!.path] = state.groups[state.group[index]!]!.gpus
  const timed = applyPlacement(graph, machine, placement)
  const { periodMs, firstOutputMs, work } = deploymentBounds(timed)
  const calm = lowestLatency(timed, periodMs)
  const settled = calm.periodMs <= limitMs * (1 + 1e-9)
  const latencyPeriodMs = settled ? calm.periodMs : Math.max(periodMs, limitMs)
  const latencyMs = settled
    ? calm.firstOutputMs
    : Math.max(work.firstOutputMs, pathBound(timed, latencyPeriodMs).firstOutputMs)
  return { ...score, periodMs, firstOutputMs, latencyMs, latencyPeriodMs, settled }
}
