/**
 * @module
 * List scheduling on a circle: nodes are placed in a given order, each at a start that its predecessors and its
 * resources allow. A dependence on the batch before may point at a node placed later; then the early one is held back
 * and the order is run again, until nothing moves.
 */
import type { TimedEdge, TimedGraph } from '../bounds/timed-graph.js'
import { seededRandom } from '../seeded-random.js'
import { periodTable, slackOf } from './period-table.js'

/**
 * `earliest`: the first gap that is long enough. `flush`: only where no sliver of time is lost on a resource.
 * `slots`: a fixed slot of the period for each node, wide groups first, which packs nested groups to the last instant.
 */
export type PlaceRule = 'earliest' | 'flush' | 'slots'

export interface Relations {
  readonly into: readonly (readonly TimedEdge[])[]
  /** Topological ranks come from this: inside a batch, a node stands after its predecessors. */
  readonly order: readonly number[]
  /** Earliest start by request- and event-rate nodes and by readiness, in ms. */
  readonly releaseMs: readonly number[]
}

/** What holds for every order: edges by target, one topological order, and the starts of nodes that run once. */
export function relate(graph: TimedGraph): Relations {
  const count = graph.tauMs.length
  const into: TimedEdge[][] = Array.from({ length: count }, () => [])
  for (const edge of graph.edges) into[edge.to]!.push(edge)
  const order: number[] = []
  const placed = new Array<boolean>(count).fill(false)
  while (order.length < count) {
    const next = placed.findIndex(
      (done, node) => !done && into[node]!.every((edge) => edge.lambda > 0 || placed[edge.from]),
    )
    placed[next] = true
    order.push(next)
  }
  // Nodes that run once do so before the first batch, one after another where they share a resource.
  const releaseMs = new Array<number>(count).fill(0)
  const busyUntil = new Array<number>(graph.resourceCount).fill(0)
  for (const node of order) {
    if (graph.periodic[node]) continue
    const ready = ends(graph, into[node]!, releaseMs)
    const free = Math.max(0, ...graph.resources[node]!.map((resource) => busyUntil[resource]!))
    releaseMs[node] = Math.max(ready, free)
    for (const resource of graph.resources[node]!)
      busyUntil[resource] = releaseMs[node]! + graph.tauMs[node]!
  }
  for (const node of order) {
    if (!graph.periodic[node]) continue
    const once = into[node]!.filter((edge) => !graph.periodic[edge.from])
    const free = graph.resources[node]!.map((resource) => busyUntil[resource]!)
    releaseMs[node] = Math.max(0, ends(graph, once, releaseMs), ...free)
  }
  return { into, order, releaseMs }
}

/** Starts of all nodes at period T, or undefined where this order and rule find none. */
export function placeInOrder(
  graph: TimedGraph,
  relations: Relations,
  order: readonly number[],
  periodMs: number,
  rule: PlaceRule,
  slotOrder: readonly number[] = order,
): number[] | undefined {
  if (rule !== 'slots') return place(graph, relations, order, periodMs, rule, undefined)
  const ordered = slotOrder.filter((node) => graph.periodic[node])
  const slots = slotsOf(graph, ordered, periodMs)
  return slots && place(graph, relations, order, periodMs, rule, slots)
}

/** Starts of all nodes where each has a slot of the period already; undefined where cycles forbid these slots. */
export function placeInSlots(
  graph: TimedGraph,
  relations: Relations,
  order: readonly number[],
  periodMs: number,
  slots: readonly number[],
): number[] | undefined {
  return place(graph, relations, order, periodMs, 'slots', slots)
}

function place(
  graph: TimedGraph,
  relations: Relations,
  order: readonly number[],
  periodMs: number,
  rule: PlaceRule,
  slots: readonly number[] | undefined,
): number[] | undefined {
  const slack = slackOf(periodMs)
  const periodic = order.filter((node) => graph.periodic[node])
  const release = [...relations.releaseMs]
  for (let round = 0; round <= periodic.length + 2; round += 1) {
    const start = [...release]
    const placed = new Array<boolean>(start.length).fill(false)
    const table = periodTable(graph.resourceCount, periodMs)
    for (const node of periodic) {
      let from = release[node]!
      for (const edge of relations.into[node]!)
        if (placed[edge.from])
          from = Math.max(
            from,
            start[edge.from]! + graph.tauMs[edge.from]! + edge.kappaMs - edge.lambda * periodMs,
          )
      const at = choose(graph, table, node, from, periodMs, rule, slots)
      if (at === undefined) return undefined
      start[node] = at
      placed[node] = true
      table.hold(graph.resources[node]!, graph.tauMs[node]!, at)
    }
    let held = false
    for (const node of periodic)
      for (const edge of relations.into[node]!) {
        if (!graph.periodic[edge.from]) continue
        const due =
          start[edge.from]! + graph.tauMs[edge.from]! + edge.kappaMs - edge.lambda * periodMs
        if (due > start[node]! + slack) {
          release[node] = Math.max(release[node]!, due)
          held = true
        }
      }
    if (!held) return start
  }
  return undefined
}

function choose(
  graph: TimedGraph,
  table: ReturnType<typeof periodTable>,
  node: number,
  from: number,
  periodMs: number,
  rule: PlaceRule,
  slots: readonly number[] | undefined,
): number | undefined {
  const resources = graph.resources[node]!
  const tau = graph.tauMs[node]!
  if (slots !== undefined) {
    const behind = (((slots[node]! - from) % periodMs) + periodMs) % periodMs
    const wait = periodMs - behind <= slackOf(periodMs) ? 0 : behind
    return table.isFree(resources, tau, from + wait) ? from + wait : undefined
  }
  if (rule === 'earliest') return table.earliest(resources, tau, from)
  const ends = table.ends(resources)
  if (ends.length === 0) return from
  let best: number | undefined
  for (const end of ends) {
    const at = from + ((((end - from) % periodMs) + periodMs) % periodMs)
    if ((best === undefined || at < best) && table.isFree(resources, tau, at)) best = at
  }
  return best
}

/** One slot per node: wider groups first, then in order, each right after the last on its resources. */
function slotsOf(
  graph: TimedGraph,
  order: readonly number[],
  periodMs: number,
): number[] | undefined {
  const filled = new Array<number>(graph.resourceCount).fill(0)
  const slot = new Array<number>(graph.tauMs.length).fill(0)
  const wide = [...order].sort((a, b) => graph.resources[b]!.length - graph.resources[a]!.length)
  for (const node of wide) {
    const at = Math.max(0, ...graph.resources[node]!.map((resource) => filled[resource]!))
    slot[node] = at
    if (at + graph.tauMs[node]! > periodMs + slackOf(periodMs)) return undefined
    for (const resource of graph.resources[node]!) filled[resource] = at + graph.tauMs[node]!
  }
  return slot
}

/** Topological orders: by what is left to do after a node first, then by shaken priorities. */
export function* priorityOrders(
  graph: TimedGraph,
  relations: Relations,
  count: number,
  seed: number,
): Generator<readonly number[]> {
  const tail = [...graph.tauMs]
  for (const node of [...relations.order].reverse())
    for (const edge of relations.into[node]!)
      if (edge.lambda === 0)
        tail[edge.from] = Math.max(
          tail[edge.from]!,
          graph.tauMs[edge.from]! + edge.kappaMs + tail[node]!,
        )
  const random = seededRandom(seed).uniform
  for (let round = 0; round < count; round += 1) {
    const shake = round === 0 ? 0 : 0.2 + (round / count) * 2
    const priority = tail.map((value) => value * (1 + shake * (random() - 0.5)))
    const waiting = relations.into.map((edges) => edges.filter((edge) => edge.lambda === 0).length)
    const order: number[] = []
    const done = new Array<boolean>(tail.length).fill(false)
    while (order.length < tail.length) {
      let best = -1
      for (let node = 0; node < tail.length; node += 1)
        if (!done[node] && waiting[node] === 0 && (best < 0 || priority[node]! > priority[best]!))
          best = node
      done[best] = true
      order.push(best)
      relations.into.forEach((edges, node) => {
        for (const edge of edges) if (edge.lambda === 0 && edge.from === best) waiting[node]! -= 1
      })
    }
    yield order
  }
}

function ends(graph: TimedGraph, edges: readonly TimedEdge[], startMs: readonly number[]): number {
  return edges.reduce(
    (latest, edge) =>
      edge.lambda === 0
        ? Math.max(latest, startMs[edge.from]! + graph.tauMs[edge.from]! + edge.kappaMs)
        : latest,
    0,
  )
}
