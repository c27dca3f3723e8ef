/**
 * @module
 * A task graph with a placement put in: times, lags and resources as numbers. All bounds and schedules work on this.
 * Instance (j, v) starts at S(j, v) >= S(j - lambda, u) + tau(u) + kappa for every edge (FlashRT section 8.1.2).
 */

export interface TimedEdge {
  readonly from: number
  readonly to: number
  readonly lambda: number
  /** Synchronisation lag after `from` ends, in ms. */
  readonly kappaMs: number
  /** Index of the dependence in the task graph, for explanations; -1 for one that a schedule added. */
  readonly origin: number
}

export interface TimedGraph {
  /** tau: processing time of each node under its placement, in ms. */
  readonly tauMs: readonly number[]
  /** Runs per batch: 1, or less for nodes that run per request or on an event. Only nodes with 1 stand in the period. */
  readonly share: readonly number[]
  /** False for nodes that run per request or on an event: they bind the first output, not the period. */
  readonly periodic: readonly boolean[]
  readonly edges: readonly TimedEdge[]
  readonly entries: readonly number[]
  /** o(k): the node whose end releases chunk k. */
  readonly outputs: readonly number[]
  /** Physical resources (GPUs, then CPU lanes) each node occupies while it runs. Groups may overlap. */
  readonly resources: readonly (readonly number[])[]
  readonly resourceCount: number
}

/** Relative slack below which two times count as equal: sums of a few hundred doubles stay far inside it. */
export const TIME_EPSILON = 1e-9

/** `a > b` beyond rounding. */
export function exceeds(a: number, b: number): boolean {
  return a - b > TIME_EPSILON * Math.max(1, Math.abs(a), Math.abs(b))
}

/** Edges between nodes that both run per batch: the ones that repeat. */
export function periodicEdges(graph: TimedGraph): TimedEdge[] {
  return graph.edges.filter((edge) => graph.periodic[edge.from]! && graph.periodic[edge.to]!)
}
