/**
 * @module
 * Lemma 8.3: a deployment with finite display offset has a period of at least the work of its busiest resource,
 * W_r = sum of tau over the nodes on r. With overlapping groups the resource is the physical GPU.
 */
import type { TimedGraph } from './timed-graph.js'

export interface LoadBound {
  /** max over resources of W_r, in ms. */
  readonly periodMs: number
  /** The busiest resource, and the nodes that load it. */
  readonly resource: number
  readonly nodes: readonly number[]
  /** W_r for every resource, in ms. */
  readonly loadMs: readonly number[]
}

export function loadBound(graph: TimedGraph): LoadBound {
  const loadMs = new Array<number>(graph.resourceCount).fill(0)
  graph.resources.forEach((set, node) => {
    for (const resource of set) loadMs[resource]! += graph.tauMs[node]! * graph.share[node]!
  })
  let resource = 0
  loadMs.forEach((load, index) => {
    if (load > loadMs[resource]!) resource = index
  })
  const nodes = graph.resources.flatMap((set, node) =>
    set.includes(resource) && graph.share[node]! > 0 ? [node] : [],
  )
  return { periodMs: loadMs[resource] ?? 0, resource, nodes, loadMs }
}
