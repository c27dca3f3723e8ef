/**
 * @module
 * The bound that state dependences put on the period: the maximum over cycles of (sum of tau + kappa) / (sum of lambda).
 * A cycle is a chain of waits from a node's batch j to the same node's batch j + sum(lambda); it must fit in that many periods.
 *
 * Found by Newton's iteration (Dinkelbach on the ratio): at period T a cycle with positive weight sum(tau + kappa - lambda T)
 * proves T too small and its own ratio is the next T. The ratio grows with every step, and there are finitely many cycles.
 */
import { periodicEdges, TIME_EPSILON, type TimedEdge, type TimedGraph } from './timed-graph.js'

export interface CycleBound {
  /** The maximum cycle ratio in ms; 0 when no cycle crosses a batch. */
  readonly periodMs: number
  /** Nodes of a critical cycle in order. */
  readonly nodes: readonly number[]
  readonly edges: readonly TimedEdge[]
}

export function cycleBound(graph: TimedGraph, extra: readonly TimedEdge[] = []): CycleBound {
  const edges = [...periodicEdges(graph), ...extra]
  let best: CycleBound = { periodMs: 0, nodes: [], edges: [] }
  // Without a cycle over batches there is nothing to iterate on, and a cycle inside a batch is no pipeline.
  for (;;) {
    const cycle = positiveCycle(graph.tauMs, edges, best.periodMs)
    if (cycle === undefined) return best
    let weight = 0
    let lambda = 0
    for (const edge of cycle) {
      weight += graph.tauMs[edge.from]! + edge.kappaMs
      lambda += edge.lambda
    }
    if (lambda === 0)
      return { periodMs: Number.POSITIVE_INFINITY, nodes: cycle.map((e) => e.from), edges: cycle }
    const ratio = weight / lambda
    // Rounding may show the same cycle again: then it is critical, and we are done.
    if (ratio <= best.periodMs * (1 + TIME_EPSILON)) return best
    best = { periodMs: ratio, nodes: cycle.map((edge) => edge.from), edges: cycle }
  }
}

/** A cycle whose weight at period T is above rounding, by Bellman-Ford from a source before all nodes. */
function positiveCycle(
  tauMs: readonly number[],
  edges: readonly TimedEdge[],
  periodMs: number,
): TimedEdge[] | undefined {
  const count = tauMs.length
  const height = new Array<number>(count).fill(0)
  const parent = new Array<TimedEdge | undefined>(count)
  let moved = -1
  for (let round = 0; round <= count; round += 1) {
    moved = -1
    for (const edge of edges) {
      const value = height[edge.from]! + tauMs[edge.from]! + edge.kappaMs - edge.lambda * periodMs
      if (value > height[edge.to]! + TIME_EPSILON * Math.max(1, periodMs)) {
        height[edge.to] = value
        parent[edge.to] = edge
        moved = edge.to
      }
    }
    if (moved === -1) return undefined
  }
  // After `count` rounds something still moves: walking back that far lands on a cycle.
  let node = moved
  for (let step = 0; step < count; step += 1) node = parent[node]!.from
  const cycle: TimedEdge[] = []
  let at = node
  do {
    const edge = parent[at]!
    cycle.unshift(edge)
    at = edge.from
  } while (at !== node)
  return cycle
}
