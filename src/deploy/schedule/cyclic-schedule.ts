/**
 * @module
 * A cyclic schedule of a placed pipeline: node v of batch j starts at R_j + start(v), R_j = (j + 1) T. List scheduling
 * on a circle of length T, over a few orders; where it reaches the bounds it is optimal, elsewhere the gap is stated.
 */
import { deploymentBounds, lowestLatency } from '../bounds/deployment-bounds.js'
import { pathBound } from '../bounds/path-bound.js'
import { exceeds, type TimedGraph } from '../bounds/timed-graph.js'
import { workBound } from '../bounds/work-bound.js'
import { seededRandom } from '../seeded-random.js'
import { type PlaceRule, placeInOrder, placeInSlots, priorityOrders, relate } from './list-order.js'
import { turnSlots } from './turn-slots.js'

/** Steps of the search for slots that keep every cycle. */
const TURNS = 2000

export interface CyclicSchedule {
  readonly periodMs: number
  /** Start of each node after its batch is ready, in ms; for request- and event-rate nodes, after the first is ready. */
  readonly startMs: readonly number[]
  /** d0* of this schedule, and d0* minus one period, in ms. */
  readonly displayOffsetMs: number
  readonly firstOutputMs: number
}

export interface AttainedSchedule extends CyclicSchedule {
  /** How far above its bound each figure is, as a fraction; 0 means that no schedule is better. */
  readonly periodGap: number
  readonly latencyGap: number
}

export interface ScheduleOptions {
  /** Orders tried per period. @default 48 */
  readonly orders?: number
  /** @default 1 */
  readonly seed?: number
  /** Longest period that `attainLatency` may take. @default unlimited */
  readonly maxPeriodMs?: number
}

/** The best schedule found at exactly this period, or undefined when none was found. */
export function scheduleAt(
  graph: TimedGraph,
  periodMs: number,
  options: ScheduleOptions = {},
  goalMs = Number.NEGATIVE_INFINITY,
): CyclicSchedule | undefined {
  const relations = relate(graph)
  let best: CyclicSchedule | undefined
  const rules: readonly PlaceRule[] = ['earliest', 'flush', 'slots']
  const random = seededRandom((options.seed ?? 1) + 1).uniform
  const slots = turnSlots(graph, periodMs, seededRandom((options.seed ?? 1) + 2).uniform, TURNS)
  if (slots !== undefined) {
    const startMs = placeInSlots(graph, relations, relations.order, periodMs, slots)
    if (startMs !== undefined) best = measure(graph, periodMs, startMs)
    if (best !== undefined && !exceeds(best.firstOutputMs, goalMs)) return best
  }
  let index = 0
  for (const order of priorityOrders(graph, relations, options.orders ?? 48, options.seed ?? 1)) {
    for (const rule of rules) {
      // Slots need not follow the data: a node whose slot is early just starts a period later.
      const slots = rule === 'slots' && index > 0 ? shuffled(order, random) : order
      const startMs = placeInOrder(graph, relations, order, periodMs, rule, slots)
      if (startMs === undefined) continue
      const found = measure(graph, periodMs, startMs)
      if (best === undefined || exceeds(best.firstOutputMs, found.firstOutputMs)) best = found
      if (!exceeds(best.firstOutputMs, goalMs)) return best
    }
    index += 1
  }
  return best
}

function shuffled(order: readonly number[], random: () => number): number[] {
  const result = [...order]
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1))
    ;[result[index], result[other]] = [result[other]!, result[index]!]
  }
  return result
}

/** The schedule with the shortest period that was found, and among those the lowest first-output latency. */
export function attainPeriod(graph: TimedGraph, options: ScheduleOptions = {}): AttainedSchedule {
  const bounds = deploymentBounds(graph)
  const exact = scheduleAt(graph, bounds.periodMs, options, bounds.firstOutputMs)
  if (exact !== undefined) return withGaps(graph, exact, bounds.periodMs)
  // One batch at a time always works: nothing of a batch is left when the next starts.
  let low = bounds.periodMs
  let high = sequentialPeriod(graph)
  let best = scheduleAt(graph, high, options) ?? sequentialSchedule(graph)
  high = best.periodMs
  for (let round = 0; round < 24 && exceeds(high, low * 1.0005); round += 1) {
    const middle = (low + high) / 2
    const found = scheduleAt(graph, middle, options)
    if (found === undefined) low = middle
    else {
      best = found
      high = middle
    }
  }
  return withGaps(graph, best, bounds.periodMs)
}

/** The schedule with the lowest first-output latency found: at the shortest period whose bound allows it, or longer. */
export function attainLatency(graph: TimedGraph, options: ScheduleOptions = {}): AttainedSchedule {
  const bounds = deploymentBounds(graph)
  const goal = lowestLatency(graph, bounds.periodMs)
  const limit = Math.max(bounds.periodMs, options.maxPeriodMs ?? Number.POSITIVE_INFINITY)
  const candidates = [Math.min(limit, goal.periodMs)]
  const sequential = Math.min(limit, sequentialPeriod(graph))
  for (let step = 1; step <= 8; step += 1)
    candidates.push(candidates[0]! + ((sequential - candidates[0]!) * step) / 8)
  let best: CyclicSchedule | undefined
  for (const period of candidates) {
    const found = scheduleAt(graph, period, options, goal.firstOutputMs)
    if (
      found !== undefined &&
      (best === undefined || exceeds(best.firstOutputMs, found.firstOutputMs))
    )
      best = found
    if (best !== undefined && !exceeds(best.firstOutputMs, goal.firstOutputMs)) break
  }
  return best === undefined ? attainPeriod(graph, options) : withGaps(graph, best, bounds.periodMs)
}

/** A period at which batches do not meet: all work and all lags of one batch, one after another. */
export function sequentialPeriod(graph: TimedGraph): number {
  const work = graph.tauMs.reduce((sum, tau, node) => sum + (graph.periodic[node] ? tau : 0), 0)
  const lags = graph.edges.reduce((sum, edge) => sum + edge.kappaMs, 0)
  return Math.max(work + lags, deploymentBounds(graph).periodMs)
}

/** One batch at a time, one node after another: feasible whatever the placement. */
function sequentialSchedule(graph: TimedGraph): CyclicSchedule {
  const { order, releaseMs } = relate(graph)
  const lag = Math.max(0, ...graph.edges.map((edge) => edge.kappaMs))
  const startMs = [...releaseMs]
  let at = Math.max(0, ...releaseMs)
  const first = at
  for (const node of order) {
    if (!graph.periodic[node]) continue
    startMs[node] = at
    at += graph.tauMs[node]! + lag
  }
  return measure(graph, at - first, startMs)
}

/** Lemma 8.1 on a cyclic schedule: d0* = max over k of the end of o(k) minus k Delta, plus the period to readiness. */
function measure(graph: TimedGraph, periodMs: number, startMs: readonly number[]): CyclicSchedule {
  const delta = periodMs / graph.outputs.length
  const firstOutputMs = Math.max(
    ...graph.outputs.map((node, k) => startMs[node]! + graph.tauMs[node]! - k * delta),
  )
  return { periodMs, startMs, firstOutputMs, displayOffsetMs: periodMs + firstOutputMs }
}

function withGaps(graph: TimedGraph, schedule: CyclicSchedule, bound: number): AttainedSchedule {
  const path = pathBound(graph, schedule.periodMs).firstOutputMs
  const floorMs = Math.max(path, workBound(graph).firstOutputMs)
  const gap = (value: number, floor: number): number =>
    exceeds(value, floor) ? value / floor - 1 : 0
  return {
    ...schedule,
    periodGap: gap(schedule.periodMs, bound),
    latencyGap: gap(schedule.firstOutputMs, floorMs),
  }
}
