/**
 * @module
 * Slots for nodes that wait for each other across batches. On every resource the nodes of one period stand one behind
 * the other, wide groups first, which loses no time; what is free is their order, the pause before each, and how far
 * each part of the machine is turned against the others, since a period is a circle. A cycle that spans one batch is kept when the waits around
 * it come to one period and not to more: a search over orders and turns looks for that.
 */

import type { TimedGraph } from '../bounds/timed-graph.js'
import { slackOf } from './period-table.js'
import { cycleLists, type WaitCycle } from './wait-cycles.js'

/** A start in [0, T) per periodic node, or undefined when no order was found to keep every cycle. */
export function turnSlots(
  graph: TimedGraph,
  periodMs: number,
  random: () => number,
  tries: number,
): number[] | undefined {
  const cycles = cycleLists(graph)
  if (cycles === undefined || cycles.length === 0) return undefined
  const nodes = graph.tauMs.map((_, node) => node).filter((node) => graph.periodic[node])
  const parts = partsOf(graph, nodes)
  const slots = new Array<number>(graph.tauMs.length).fill(0)
  const turn = parts.map(() => 0)
  const pause = new Array<number>(graph.tauMs.length).fill(0)
  let orders: (readonly number[])[] = parts
  const lay = (index: number): boolean => {
    const inside = stack(graph, orders[index]!, pause, periodMs)
    if (inside === undefined) return false
    for (const node of orders[index]!) slots[node] = (inside.get(node)! + turn[index]!) % periodMs
    return true
  }
  if (!parts.every((_, index) => lay(index))) return undefined
  let broken = excess(graph, cycles, slots, periodMs)
  for (let step = 0; step < tries && broken > 0; step += 1) {
    const late = cycles.filter((cycle) => excess(graph, [cycle], slots, periodMs) > 0)
    const cycle = late[Math.floor(random() * late.length)]!
    const at = cycle.edges[Math.floor(random() * cycle.edges.length)]!
    const part = parts.findIndex((list) => list.includes(at.to))
    const before = { orders, turn: turn[part]!, slots: [...slots] }
    const rest = pause[at.to]!
    const due = slots[at.from]! + graph.tauMs[at.from]! + at.kappaMs
    const move = random()
    if (move < 0.15) pause[at.to] = move < 0.05 ? 0 : rest + modulo(due - slots[at.to]!, periodMs)
    else if (move < 0.55) {
      // Turn the part so that this wait is gone.
      turn[part] = modulo(turn[part]! + due - slots[at.to]!, periodMs)
    } else {
      const order = [...orders[part]!]
      const from = Math.floor(random() * order.length)
      const [moved] = order.splice(from, 1)
      order.splice(Math.floor(random() * (order.length + 1)), 0, moved!)
      orders = orders.map((list, index) => (index === part ? order : list))
    }
    const next = lay(part) ? excess(graph, cycles, slots, periodMs) : Number.POSITIVE_INFINITY
    if (next > broken && random() > 0.03) {
      orders = before.orders
      turn[part] = before.turn
      pause[at.to] = rest
      before.slots.forEach((slot, node) => {
        slots[node] = slot
      })
    } else broken = next
  }
  return broken > 0 ? undefined : slots
}

/** Nodes whose resources hang together; what stands on other resources turns freely against them. */
function partsOf(graph: TimedGraph, nodes: readonly number[]): number[][] {
  const parts: { readonly nodes: number[]; readonly resources: Set<number> }[] = []
  for (const node of nodes) {
    const touched = parts.filter((part) =>
      graph.resources[node]!.some((resource) => part.resources.has(resource)),
    )
    const joined = {
      nodes: [...touched.flatMap((part) => part.nodes), node],
      resources: new Set([
        ...touched.flatMap((part) => [...part.resources]),
        ...graph.resources[node]!,
      ]),
    }
    parts.splice(0, parts.length, ...parts.filter((part) => !touched.includes(part)), joined)
  }
  return parts.map((part) => part.nodes)
}

/** Wide groups first, then in order, each right behind what its resources hold. */
function stack(
  graph: TimedGraph,
  order: readonly number[],
  pause: readonly number[],
  periodMs: number,
): Map<number, number> | undefined {
  const filled = new Map<number, number>()
  const at = new Map<number, number>()
  const wide = [...order].sort((a, b) => graph.resources[b]!.length - graph.resources[a]!.length)
  for (const node of wide) {
    const behind = graph.resources[node]!.map((resource) => filled.get(resource) ?? 0)
    const start = Math.max(0, ...behind) + pause[node]!
    const end = start + graph.tauMs[node]!
    if (end > periodMs + slackOf(periodMs)) return undefined
    at.set(node, start)
    for (const resource of graph.resources[node]!) filled.set(resource, end)
  }
  return at
}

/** Periods that cycles take beyond those they span, summed. */
function excess(
  graph: TimedGraph,
  cycles: readonly WaitCycle[],
  slots: readonly number[],
  periodMs: number,
): number {
  const slack = slackOf(periodMs)
  let sum = 0
  for (const cycle of cycles) {
    let around = 0
    for (const edge of cycle.edges) {
      const busy = graph.tauMs[edge.from]! + edge.kappaMs
      const wait = modulo(slots[edge.to]! - slots[edge.from]! - busy, periodMs)
      around += busy + (periodMs - wait <= slack ? 0 : wait)
    }
    sum += Math.max(0, Math.round(around / periodMs) - cycle.lambda)
  }
  return sum
}

function modulo(value: number, periodMs: number): number {
  return ((value % periodMs) + periodMs) % periodMs
}
