/**
 * @module
 * Questions about a task graph that several rules ask: which leaves a name covers, what path or state leads from one
 * set of leaves to another, and what closes a cycle over one batch.
 */
import { HorizonError } from '../../core/errors.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { reachOf } from './reach.js'

/** Leaves that a node or graph name covers. Throws for a name that covers none. */
export function leavesUnder(graph: TaskGraph, name: string): readonly number[] {
  const found = reachOf(graph).leaves.get(name)
  if (found === undefined)
    throw new HorizonError('ERR_DEPLOY_NODE_UNKNOWN', `no node '${name}'`, {
      expected: `one of ${graph.tasks.map((task) => task.path).join(', ')}, or a graph above them`,
    })
  return found
}

/** A shortest chain of dependences inside a batch from any of `from` to any of `to`, as dependence indices. */
export function pathBetween(
  graph: TaskGraph,
  from: readonly number[],
  to: readonly number[],
): number[] | undefined {
  const { outOf, reaches, treeOf } = reachOf(graph)
  if (!from.some((source) => to.some((target) => reaches(source, target)))) return undefined
  if (from.length === 1) {
    const { cameBy, rank } = treeOf(from[0]!)
    const met = to.filter((target) => rank[target]! > 0)
    if (met.length === 0) return undefined
    const end = met.reduce((best, target) => (rank[target]! < rank[best]! ? target : best))
    return trace(graph, (task) => cameBy[task]!, end, from)
  }
  const cameBy = new Map<number, number>()
  const queue = [...from]
  const seen = new Set(from)
  for (let at = 0; at < queue.length; at += 1) {
    for (const index of outOf[queue[at]!]!) {
      const edge = graph.dependences[index]!
      if (seen.has(edge.to)) continue
      seen.add(edge.to)
      cameBy.set(edge.to, index)
      if (to.includes(edge.to)) return trace(graph, (task) => cameBy.get(task)!, edge.to, from)
      queue.push(edge.to)
    }
  }
  return undefined
}

/** States that both sides touch and at least one of all nodes writes; those that none writes. */
export function sharedStates(
  graph: TaskGraph,
  a: readonly number[],
  b: readonly number[],
): { readonly written: string[]; readonly readOnly: string[] } {
  const { touches, stateNames, written } = reachOf(graph)
  const mine = new Set(a.flatMap((task) => touches[task]!))
  const both = [...new Set(b.flatMap((task) => touches[task]!))]
    .filter((state) => mine.has(state))
    .sort((left, right) => left - right)
  const names = (wanted: boolean): string[] =>
    both.filter((state) => written[state] === wanted).map((state) => stateNames[state]!)
  return { written: names(true), readOnly: names(false) }
}

/**
 * A cycle that spans one batch and passes through both sets: it makes b of batch j wait for a of batch j, and a of
 * batch j + 1 for b of batch j, so the two can never overlap. The dependence that closes it is returned.
 */
export function closesCycle(
  graph: TaskGraph,
  a: readonly number[],
  b: readonly number[],
): number | undefined {
  const { cyclesAt } = reachOf(graph)
  const through = new Set(a.flatMap((task) => cyclesAt[task]!))
  const common = b.flatMap((task) => cyclesAt[task]!.filter((index) => through.has(index)))
  return common.length === 0 ? undefined : Math.min(...common)
}

function trace(
  graph: TaskGraph,
  cameBy: (task: number) => number,
  end: number,
  from: readonly number[],
): number[] {
  const path: number[] = []
  for (let at = end; !from.includes(at) || path.length === 0; ) {
    const edge = cameBy(at)
    path.push(edge)
    at = graph.dependences[edge]!.from
  }
  return path.reverse()
}
