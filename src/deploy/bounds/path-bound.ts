/**
 * @module
 * Lemma 8.2: d0* >= w(P) + (1 - Lambda(P)) T - k Delta for every path P from an entry to the output of chunk k.
 * Taken over all paths at once: the longest path with edge weights tau + kappa - lambda T. One period is subtracted,
 * which gives the first-output latency, counted from the moment a batch is ready; the paper's tables print that.
 */
import { TIME_EPSILON, type TimedGraph } from './timed-graph.js'

export interface PathBound {
  /** d0* - T >= this, in ms; infinite when the period is below a cycle's ratio. */
  readonly firstOutputMs: number
  /** The binding path, entry first. */
  readonly nodes: readonly number[]
  /** The binding chunk, and the batches the path reaches back. */
  readonly chunk: number
  readonly lambda: number
}

/** The path bound at period `periodMs`. With `direct`, only paths inside one batch count (what a slow period leaves). */
export function pathBound(graph: TimedGraph, periodMs: number, direct = false): PathBound {
  const count = graph.tauMs.length
  const start = new Array<number>(count).fill(Number.NEGATIVE_INFINITY)
  const parent = new Array<number>(count).fill(-1)
  for (const entry of graph.entries) start[entry] = 0
  const edges = direct ? graph.edges.filter((edge) => edge.lambda === 0) : graph.edges
  let moved = true
  for (let round = 0; moved; round += 1) {
    if (round > count)
      return { firstOutputMs: Number.POSITIVE_INFINITY, nodes: [], chunk: 0, lambda: 0 }
    moved = false
    edges.forEach((edge, index) => {
      const shift = edge.lambda === 0 ? 0 : edge.lambda * periodMs
      const value = start[edge.from]! + graph.tauMs[edge.from]! + edge.kappaMs - shift
      if (value > start[edge.to]! + TIME_EPSILON * Math.max(1, Math.abs(value))) {
        start[edge.to] = value
        parent[edge.to] = index
        moved = true
      }
    })
  }
  const delta = periodMs / graph.outputs.length
  let best = Number.NEGATIVE_INFINITY
  let chunk = 0
  graph.outputs.forEach((node, k) => {
    const value = start[node]! + graph.tauMs[node]! - (k === 0 ? 0 : k * delta)
    if (value > best) {
      best = value
      chunk = k
    }
  })
  const nodes = [graph.outputs[chunk]!]
  let lambda = 0
  for (let at = parent[nodes[0]!]!; at !== -1 && nodes.length <= count; at = parent[nodes[0]!]!) {
    nodes.unshift(edges[at]!.from)
    lambda += edges[at]!.lambda
  }
  return { firstOutputMs: best, nodes, chunk, lambda }
}
