import type { TimedEdge, TimedGraph } from '../../../src/deploy/bounds/timed-graph.js'
import { mulberry } from './mulberry.js'

export interface RandomGraphOptions {
  readonly nodes: number
  readonly resources: number
  /** Groups of several resources, nested or arbitrary; single resources otherwise. */
  readonly groups: 'single' | 'nested' | 'any'
  /** Edges across batches beyond self edges. */
  readonly back: boolean
  readonly self?: boolean
}

/** A random timed graph in which every node leads to the one output, so all work is output-relevant. */
export function randomGraph(seed: number, options: RandomGraphOptions): TimedGraph {
  const random = mulberry(seed)
  const int = (below: number): number => Math.floor(random() * below)
  const count = 1 + int(options.nodes)
  const tauMs = Array.from({ length: count }, () => 1 + int(40) / 2)
  const edges: TimedEdge[] = []
  const add = (from: number, to: number, lambda: number): void => {
    edges.push({ from, to, lambda, kappaMs: int(3) === 0 ? int(8) / 2 : 0, origin: edges.length })
  }
  for (let to = 1; to < count; to += 1)
    for (let from = 0; from < to; from += 1) if (random() < 0.35) add(from, to, 0)
  for (let from = 0; from < count - 1; from += 1)
    if (!edges.some((edge) => edge.from === from)) add(from, count - 1, 0)
  if (options.self !== false)
    for (let node = 0; node < count; node += 1) if (random() < 0.4) add(node, node, 1)
  if (options.back) for (let step = int(3); step > 0; step -= 1) add(int(count), int(count), 1)
  const entries = tauMs.flatMap((_, node) =>
    edges.some((edge) => edge.to === node && edge.lambda === 0) ? [] : [node],
  )
  const chunks = 1 + int(4)
  return {
    tauMs,
    share: tauMs.map(() => 1),
    periodic: tauMs.map(() => true),
    edges,
    entries,
    outputs: new Array<number>(chunks).fill(count - 1),
    resources: tauMs.map(() => group(options, int)),
    resourceCount: options.resources,
  }
}

function group(options: RandomGraphOptions, int: (below: number) => number): number[] {
  const total = options.resources
  if (options.groups === 'single') return [int(total)]
  if (options.groups === 'nested') {
    // Halves of halves: any two are disjoint or one holds the other.
    let low = 0
    let high = total
    while (high - low > 1 && int(3) > 0) {
      const middle = (low + high) >> 1
      if (int(2) === 0) high = middle
      else low = middle
    }
    return Array.from({ length: high - low }, (_, index) => low + index)
  }
  const set = Array.from({ length: total }, (_, index) => index).filter(() => int(2) === 0)
  return set.length > 0 ? set : [int(total)]
}
