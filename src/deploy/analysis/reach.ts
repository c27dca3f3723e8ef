/**
 * @module
 * What follows from a task graph once and is asked thousands of times: who is next to whom, who reaches whom inside a
 * batch, which dependence on the batch before closes a cycle through whom, which states a task touches. Computed at the
 * first question about a graph and kept as long as the graph.
 */
import { repeats, type TaskGraph } from '../ir/task-graph.js'

export interface Reach {
  /** Dependences inside a batch by source, ascending. */
  readonly outOf: readonly (readonly number[])[]
  /** Whether a chain inside a batch leads from one task to another; a task reaches itself. */
  reaches(from: number, to: number): boolean
  /** The breadth-first tree of chains inside a batch from one task. */
  treeOf(from: number): Tree
  /** Whether a dependence inside a batch leads from any of `a` to any of `b`, or back. */
  adjacent(a: readonly number[], b: readonly number[]): boolean
  /** Dependences with lambda 1 whose cycle over one batch passes a task, ascending. */
  readonly cyclesAt: readonly (readonly number[])[]
  /** Indices of the states that a task reads or writes, ascending, each once. */
  readonly touches: readonly (readonly number[])[]
  readonly stateNames: readonly string[]
  /** Whether a state orders any two tasks inside a batch. */
  readonly ordersByState: boolean
  /** By state: whether any task writes it. */
  readonly written: readonly boolean[]
  /** Leaves by the name of a task or of any graph above it. */
  readonly leaves: ReadonlyMap<string, readonly number[]>
}

export interface Tree {
  /** By task: the dependence a shortest chain arrives by, or -1. */
  readonly cameBy: Int32Array
  /** By task: when the search met it; smaller is nearer. */
  readonly rank: Int32Array
}

const KNOWN = new WeakMap<TaskGraph, Reach>()

export function reachOf(graph: TaskGraph): Reach {
  const known = KNOWN.get(graph)
  if (known !== undefined) return known
  const reach = compute(graph)
  KNOWN.set(graph, reach)
  return reach
}

function compute(graph: TaskGraph): Reach {
  const count = graph.tasks.length
  const outOf: number[][] = Array.from({ length: count }, () => [])
  const next = Array.from({ length: count }, () => new Set<number>())
  graph.dependences.forEach((edge, index) => {
    if (edge.lambda !== 0) return
    outOf[edge.from]!.push(index)
    next[edge.from]!.add(edge.to)
  })
  const words = Math.ceil(count / 32)
  const rows = new Uint32Array(count * words)
  // Task indices are a topological order, so what a task leads to is complete before the task is.
  for (let from = count - 1; from >= 0; from -= 1) {
    rows[from * words + (from >> 5)]! |= 1 << (from & 31)
    for (const to of next[from]!)
      for (let word = 0; word < words; word += 1)
        rows[from * words + word]! |= rows[to * words + word]!
  }
  const reaches = (from: number, to: number): boolean =>
    (rows[from * words + (to >> 5)]! & (1 << (to & 31))) !== 0
  const trees: (Tree | undefined)[] = []
  const treeOf = (from: number): Tree => {
    trees[from] ??= breadthFirst(graph, outOf, from)
    return trees[from]
  }
  const cyclesAt: number[][] = Array.from({ length: count }, () => [])
  graph.dependences.forEach((edge, index) => {
    if (edge.lambda !== 1 || !repeats(graph, edge) || !reaches(edge.to, edge.from)) return
    // The rest of the cycle runs inside a batch, from where the edge arrives to where it leaves.
    for (let task = edge.to; task <= edge.from; task += 1)
      if (reaches(edge.to, task) && reaches(task, edge.from)) cyclesAt[task]!.push(index)
  })
  const stateNames = [...graph.states.keys()]
  const numberOf = new Map(stateNames.map((name, index) => [name, index]))
  const written = stateNames.map(() => false)
  const touches = graph.tasks.map(({ reads, writes }) => {
    for (const name of writes) written[numberOf.get(name)!] = true
    return [...new Set([...reads, ...writes])]
      .map((name) => numberOf.get(name)!)
      .sort((a, b) => a - b)
  })
  return {
    outOf,
    reaches,
    treeOf,
    adjacent: (a, b) =>
      a.some((from) => b.some((to) => next[from]!.has(to) || next[to]!.has(from))),
    cyclesAt,
    touches,
    stateNames,
    ordersByState: graph.dependences.some((edge) => edge.lambda === 0 && edge.cause === 'state'),
    written,
    leaves: leavesByName(graph),
  }
}

function breadthFirst(graph: TaskGraph, outOf: readonly (readonly number[])[], from: number): Tree {
  const cameBy = new Int32Array(graph.tasks.length).fill(-1)
  const rank = new Int32Array(graph.tasks.length).fill(-1)
  const queue = [from]
  rank[from] = 0
  for (let at = 0; at < queue.length; at += 1)
    for (const index of outOf[queue[at]!]!) {
      const { to } = graph.dependences[index]!
      if (rank[to] !== -1) continue
      cameBy[to] = index
      rank[to] = queue.length
      queue.push(to)
    }
  return { cameBy, rank }
}

function leavesByName(graph: TaskGraph): Map<string, number[]> {
  const leaves = new Map<string, number[]>()
  graph.tasks.forEach(({ path }, index) => {
    for (let end = path.length; end !== -1; end = path.lastIndexOf('/', end - 1)) {
      const name = path.slice(0, end)
      const list = leaves.get(name)
      if (list === undefined) leaves.set(name, [index])
      else list.push(index)
      if (end === 0) break
    }
  })
  return leaves
}
