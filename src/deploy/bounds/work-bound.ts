/**
 * @module
 * A bound the path bound misses when parallel branches share a GPU: everything that the first chunk waits for and that
 * stands on one GPU runs there one after another, after the batch is ready and after what it waits for itself. Ours, for
 * ranking placements; for a chain it is never above the path bound.
 */
import { serialFirstOutput, serialScratch, serialShape } from './serial-start.js'
import type { TimedGraph } from './timed-graph.js'

export interface WorkBound {
  readonly firstOutputMs: number
  readonly resource: number
}

/** Nodes between an entry and the output of chunk 0 inside one batch, ends included. */
export function firstChunkNodes(
  graph: Pick<TimedGraph, 'entries' | 'outputs' | 'edges' | 'tauMs'>,
): boolean[] {
  const count = graph.tauMs.length
  const after = closure(count, graph.entries, (visit) => {
    for (const edge of graph.edges) if (edge.lambda === 0) visit(edge.from, edge.to)
  })
  const before = closure(count, [graph.outputs[0]!], (visit) => {
    for (const edge of graph.edges) if (edge.lambda === 0) visit(edge.to, edge.from)
  })
  return after.map((value, node) => value && before[node]!)
}

export function workBound(graph: TimedGraph, needed = firstChunkNodes(graph)): WorkBound {
  const work = new Array<number>(graph.resourceCount).fill(0)
  graph.resources.forEach((set, node) => {
    if (needed[node]) for (const resource of set) work[resource]! += graph.tauMs[node]!
  })
  let resource = 0
  work.forEach((value, index) => {
    if (value > work[resource]!) resource = index
  })
  const workMs = work[resource] ?? 0
  const output = graph.outputs[0]!
  const shape = serialShape(graph.edges, graph.entries, output, needed)
  if (!needed[output] || !shape.worth) return { firstOutputMs: workMs, resource }
  const lagMs = graph.edges.map((edge) => edge.kappaMs)
  const firstOutputMs = serialFirstOutput(
    shape,
    graph.edges,
    graph.tauMs,
    lagMs,
    (node) => graph.resources[node]!,
    serialScratch(graph.tauMs.length, graph.resourceCount),
  )
  return { firstOutputMs: Math.max(workMs, firstOutputMs), resource }
}

function closure(
  count: number,
  seeds: readonly number[],
  each: (visit: (from: number, to: number) => void) => void,
): boolean[] {
  const inside = new Array<boolean>(count).fill(false)
  for (const seed of seeds) inside[seed] = true
  for (let grown = true; grown; ) {
    grown = false
    each((from, to) => {
      if (inside[from] && !inside[to]) {
        inside[to] = true
        grown = true
      }
    })
  }
  return inside
}
