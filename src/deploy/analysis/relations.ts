/**
 * @module
 * Questions about a task graph that several rules ask: which leaves a name covers, what path or state leads from one
 * set of leaves to another, and what closes a cycle over one batch.
 */
import { HorizonError } from '../../core/errors.js'
import { repeats, type TaskGraph } from '../ir/task-graph.js'

/** Leaves that a node or graph name covers. Throws for a name that covers none. */
export function leavesUnder(graph: TaskGraph, name: string): number[] {
  const found = graph.tasks.flatMap((task, index) =>
    task.path === name || task.path.startsWith(`${name}/`) ? [index] : [],
  )
  if (found.length === 0)
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
  const cameBy = new Map<number, number>()
  const queue = [...from]
  const seen = new Set(from)
  for (let at = 0; at < queue.length; at += 1) {
    const node = queue[at]!
    for (const [index, edge] of graph.dependences.entries()) {
      if (edge.from !== node || edge.lambda !== 0 || seen.has(edge.to)) continue
      seen.add(edge.to)
      cameBy.set(edge.to, index)
      if (to.includes(edge.to)) return trace(graph, cameBy, edge.to, from)
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
  const touches = (side: readonly number[], name: string): boolean =>
    side.some((task) => {
      const { reads, writes } = graph.tasks[task]!
      return reads.includes(name) || writes.includes(name)
    })
  const both = [...graph.states.keys()].filter((name) => touches(a, name) && touches(b, name))
  const isWritten = (name: string): boolean =>
    graph.tasks.some((task) => task.writes.includes(name))
  return { written: both.filter(isWritten), readOnly: both.filter((name) => !isWritten(name)) }
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
  for (const [index, edge] of graph.dependences.entries()) {
    if (edge.lambda !== 1 || !repeats(graph, edge)) continue
    // The rest of the cycle runs inside a batch, from where the edge arrives to where it leaves.
    const inside = between(graph, edge.to, edge.from)
    if (a.some((task) => inside.has(task)) && b.some((task) => inside.has(task))) return index
  }
  return undefined
}

/** Tasks on some path inside a batch from `first` to `last`, both included; empty when there is none. */
function between(graph: TaskGraph, first: number, last: number): Set<number> {
  const forward = closure(graph, first, true)
  if (!forward.has(last)) return new Set()
  const backward = closure(graph, last, false)
  return new Set([...forward].filter((task) => backward.has(task)))
}

function closure(graph: TaskGraph, seed: number, forward: boolean): Set<number> {
  const seen = new Set([seed])
  const queue = [seed]
  for (let at = 0; at < queue.length; at += 1)
    for (const edge of graph.dependences) {
      if (edge.lambda !== 0) continue
      const [near, far] = forward ? [edge.from, edge.to] : [edge.to, edge.from]
      if (near === queue[at] && !seen.has(far)) {
        seen.add(far)
        queue.push(far)
      }
    }
  return seen
}

function trace(
  graph: TaskGraph,
  cameBy: ReadonlyMap<number, number>,
  end: number,
  from: readonly number[],
): number[] {
  const path: number[] = []
  for (let at = end; !from.includes(at) || path.length === 0; ) {
    const edge = cameBy.get(at)!
    path.unshift(edge)
    at = graph.dependences[edge]!.from
  }
  return path
}
