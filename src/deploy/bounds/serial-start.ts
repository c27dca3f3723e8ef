/**
 * @module
 * Earliest starts inside one batch when branches that share a GPU run there one after another. All that a node waits for
 * and that stands on one GPU is served no earlier than in the order in which it becomes ready, so its end is a bound.
 * The path bound misses that, and the sum of a GPU's work misses when the first of it can start. Ours.
 */

/** What does not change with the placement: who waits for whom inside a batch, up to the first output. */
export interface SerialShape {
  /** Nodes between an entry and the first output, in topological order. */
  readonly order: readonly number[]
  /** By node: edges inside a batch from such nodes, as indices of the caller's list. */
  readonly into: readonly (readonly number[])[]
  /** By node: all it waits for, where those are no chain; else nothing, as paths say it all then. */
  readonly branches: readonly (readonly number[])[]
  readonly entries: readonly boolean[]
  readonly output: number
  /** False when nothing branches: then the path bound is all there is. */
  readonly worth: boolean
}

interface Arc {
  readonly from: number
  readonly to: number
  readonly lambda: number
}

/** `needed[v]`: whether v stands between an entry and the output of chunk 0. */
export function serialShape(
  edges: readonly Arc[],
  entries: readonly number[],
  output: number,
  needed: readonly boolean[],
): SerialShape {
  const count = needed.length
  const into: number[][] = Array.from({ length: count }, () => [])
  edges.forEach((edge, index) => {
    if (edge.lambda === 0 && needed[edge.from] && needed[edge.to]) into[edge.to]!.push(index)
  })
  const order: number[] = []
  const above = Array.from({ length: count }, () => new Set<number>())
  const left = into.map((list) => list.length)
  const out: number[][] = Array.from({ length: count }, () => [])
  for (const list of into) for (const index of list) out[edges[index]!.from]!.push(index)
  const ready = needed.flatMap((yes, node) => (yes && left[node] === 0 ? [node] : []))
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order.push(node)
    for (const index of into[node]!) {
      const { from } = edges[index]!
      above[node]!.add(from)
      for (const other of above[from]!) above[node]!.add(other)
    }
    for (const index of out[node]!) {
      const { to } = edges[index]!
      left[to]! -= 1
      if (left[to] === 0) ready.push(to)
    }
  }
  const branches = above.map((set) => {
    const nodes = [...set].sort((a, b) => above[a]!.size - above[b]!.size)
    const chain = nodes.every((node, index) => index === 0 || above[node]!.has(nodes[index - 1]!))
    return chain ? [] : nodes
  })
  const isEntry = needed.map((_, node) => entries.includes(node))
  const worth = branches.some((list) => list.length > 0)
  return { order, into, branches, entries: isEntry, output, worth }
}

/** Scratch of `serialFirstOutput`, so that a search allocates nothing per look. */
export interface SerialScratch {
  readonly startMs: Float64Array
  readonly busyMs: Float64Array
  readonly sorted: Int32Array
}

export function serialScratch(nodes: number, resources: number): SerialScratch {
  return {
    startMs: new Float64Array(nodes),
    busyMs: new Float64Array(resources),
    sorted: new Int32Array(nodes),
  }
}

/**
 * End of the first output after its batch is ready, in ms, at the least. `lagMs` by edge, `resourcesOf` the resources of
 * a node (none while it is not placed).
 */
export function serialFirstOutput(
  shape: SerialShape,
  edges: readonly Arc[],
  tauMs: ArrayLike<number>,
  lagMs: ArrayLike<number>,
  resourcesOf: (node: number) => readonly number[],
  scratch: SerialScratch,
): number {
  const { startMs, busyMs, sorted } = scratch
  for (const node of shape.order) {
    let value = shape.entries[node] ? 0 : Number.NEGATIVE_INFINITY
    for (const index of shape.into[node]!) {
      const { from } = edges[index]!
      const due = startMs[from]! + tauMs[from]! + lagMs[index]!
      if (due > value) value = due
    }
    const list = shape.branches[node]!
    if (list.length > 0) {
      let filled = 0
      for (const other of list) {
        let at = filled
        while (at > 0 && startMs[sorted[at - 1]!]! > startMs[other]!) {
          sorted[at] = sorted[at - 1]!
          at -= 1
        }
        sorted[at] = other
        filled += 1
      }
      busyMs.fill(0)
      for (let index = 0; index < filled; index += 1) {
        const other = sorted[index]!
        for (const resource of resourcesOf(other)) {
          const end = Math.max(busyMs[resource]!, startMs[other]!) + tauMs[other]!
          busyMs[resource] = end
          if (end > value) value = end
        }
      }
    }
    startMs[node] = value
  }
  return startMs[shape.output]! + tauMs[shape.output]!
}
