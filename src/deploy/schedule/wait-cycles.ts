/**
 * @module
 * Simple cycles over batches of a placed pipeline, the ones that leave a node included: what a slot schedule must keep.
 */
import { periodicEdges, type TimedEdge, type TimedGraph } from '../bounds/timed-graph.js'
import { elementaryCycles } from '../search/elementary-cycles.js'

export interface WaitCycle {
  readonly edges: readonly TimedEdge[]
  /** Batches it spans. */
  readonly lambda: number
}

/** Cycles through two or more nodes; undefined when they are too many to list. */
export function cycleLists(graph: TimedGraph): WaitCycle[] | undefined {
  const edges = periodicEdges(graph)
  return elementaryCycles(graph.tauMs.length, edges)
    ?.filter((cycle) => cycle.edges.length > 1)
    .map((cycle) => ({
      edges: cycle.edges.map((index) => edges[index]!),
      lambda: cycle.lambda,
    }))
}
