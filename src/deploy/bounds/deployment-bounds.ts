/**
 * @module
 * What no schedule of a placed pipeline can beat: its period, its rate, its display offset and first-output latency.
 */
import { type CycleBound, cycleBound } from './cycle-bound.js'
import { type LoadBound, loadBound } from './load-bound.js'
import { type PathBound, pathBound } from './path-bound.js'
import { exceeds, type TimedGraph } from './timed-graph.js'
import { type WorkBound, workBound } from './work-bound.js'

export interface DeploymentBounds {
  readonly load: LoadBound
  readonly cycle: CycleBound
  /** Sustainable period: the greater of resource load and cycle ratio, in ms. */
  readonly periodMs: number
  readonly path: PathBound
  readonly work: WorkBound
  /** First output after a batch is ready (d0* minus one period), at the sustainable period, in ms. */
  readonly firstOutputMs: number
}

export function deploymentBounds(graph: TimedGraph): DeploymentBounds {
  const load = loadBound(graph)
  const cycle = cycleBound(graph)
  const periodMs = Math.max(load.periodMs, cycle.periodMs)
  const path = pathBound(graph, periodMs)
  const work = workBound(graph)
  const firstOutputMs = Math.max(path.firstOutputMs, work.firstOutputMs)
  return { load, cycle, periodMs, path, work, firstOutputMs }
}

/** Lower bound of d0* at a requested period, in ms: infinite below the sustainable period. */
export function displayOffsetBound(graph: TimedGraph, periodMs: number): number {
  const bounds = deploymentBounds(graph)
  if (exceeds(bounds.periodMs, periodMs)) return Number.POSITIVE_INFINITY
  return periodMs + Math.max(pathBound(graph, periodMs).firstOutputMs, bounds.work.firstOutputMs)
}

/**
 * The shortest period at which first-output latency is as low as this placement allows, and that latency. Paths that
 * reach back over batches press on the first output at a short period and let go of it at a longer one.
 */
export function lowestLatency(
  graph: TimedGraph,
  fromPeriodMs: number,
): { readonly firstOutputMs: number; readonly periodMs: number } {
  const direct = Math.max(
    pathBound(graph, Number.POSITIVE_INFINITY, true).firstOutputMs,
    workBound(graph).firstOutputMs,
  )
  const chunks = graph.outputs.length
  let periodMs = fromPeriodMs
  for (;;) {
    const path = pathBound(graph, periodMs)
    const slope = path.lambda + path.chunk / chunks
    if (slope <= 0 || !exceeds(path.firstOutputMs, direct)) break
    // At the next period this path presses no more; each round retires one, and there are finitely many.
    periodMs += (path.firstOutputMs - direct) / slope
  }
  return { firstOutputMs: direct, periodMs }
}
