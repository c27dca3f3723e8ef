/**
 * @module
 * Derives dependences from state annotations, so that nobody writes a cross-batch edge by hand (FlashRT section 4.2).
 *
 * The reference runs batch after batch, and in a batch node after node. Whatever runs elsewhere must keep, for every
 * state, the order of any two accesses of which at least one writes:
 * - read after write: the value flows, so the edge costs moving the state to the reader's group;
 * - write after read, write after write: order alone, at no cost.
 * Two nodes that only read a state need no order at all: they may run at once, on copies. That is what read-read
 * sharing means here: a replica per group in the memory account, and no edge.
 *
 * A blocking edge between two batch-rate nodes is a hand-over: the producer holds its output until the consumer is
 * done, so its next batch waits (an edge back with lambda = 1), and the two never overlap.
 */
import type { PipelineState } from './pipeline.js'
import type { Dependence, Task } from './task-graph.js'

/** Data dependences in, all the derived ones out. `tasks` stand in reference order, and `data` respects it. */
export function deriveDependences(
  tasks: readonly Task[],
  data: readonly Dependence[],
  states: ReadonlyMap<string, PipelineState>,
): Dependence[] {
  const derived: Dependence[] = []
  const reach = reachability(tasks.length, data)
  for (const [name, state] of states) {
    const users = tasks.flatMap((task, index) =>
      task.node.runs === 'batch' && (task.reads.includes(name) || task.writes.includes(name))
        ? [{ index, reads: task.reads.includes(name), writes: task.writes.includes(name) }]
        : [],
    )
    const writers = users.filter((user) => user.writes)
    const first = writers[0]
    const last = writers.at(-1)
    if (first === undefined || last === undefined) continue
    const add = (from: number, to: number, lambda: 0 | 1, flows: boolean): void => {
      const cost = flows ? (state.moveMs ?? 0) : 0
      derived.push({
        from,
        to,
        lambda,
        cause: 'state',
        mode: 'blocking',
        costMs: cost,
        payloadBytes: flows ? state.sizeBytes : 0,
        state: name,
        why: explain(tasks, from, to, lambda, flows, name),
        at: tasks[to]!.at,
      })
      if (lambda === 0) connect(reach, from, to)
    }
    for (const user of users) {
      const before = writers.filter((writer) => writer.index < user.index)
      const source = before.at(-1)
      // Inside a batch: the value of the last write before, or at least its order.
      if (user.reads && source !== undefined) add(source.index, user.index, 0, true)
      for (const other of users)
        if (
          other.index < user.index &&
          (other.writes || user.writes) &&
          !reach[other.index]!.has(user.index)
        )
          add(other.index, user.index, 0, false)
      // From the batch before: who reads ahead of any write sees what its last writer left.
      if (user.reads && user.index <= first.index) add(last.index, user.index, 1, true)
      if (!user.writes && user.index > last.index) add(user.index, first.index, 1, false)
    }
    // A first writer that reads has its edge above already.
    if (!first.reads) add(last.index, first.index, 1, false)
  }
  for (const edge of data) {
    const both = [edge.from, edge.to].every((index) => tasks[index]!.node.runs === 'batch')
    if (edge.mode !== 'blocking' || !both) continue
    derived.push({
      from: edge.to,
      to: edge.from,
      lambda: 1,
      cause: 'handover',
      mode: 'blocking',
      costMs: 0,
      payloadBytes: 0,
      why: `${tasks[edge.from]!.path} -> ${tasks[edge.to]!.path} is blocking: ${tasks[edge.from]!.path} starts its next batch when ${tasks[edge.to]!.path} is done with this one`,
      at: edge.at,
    })
  }
  return derived
}

/** Numbers the clusters of tasks that a pinned state holds together: touched by several, written by at least one. */
export function pinnedClusters(
  tasks: readonly Task[],
  states: ReadonlyMap<string, PipelineState>,
): number[] {
  const cluster = tasks.map((_, index) => index)
  for (const [name, state] of states) {
    if (state.moveMs !== undefined) continue
    const users = tasks.flatMap((task, index) =>
      task.reads.includes(name) || task.writes.includes(name) ? [index] : [],
    )
    if (!tasks.some((task) => task.writes.includes(name))) continue
    const target = Math.min(...users.map((index) => cluster[index]!))
    const merged = new Set(users.map((index) => cluster[index]!))
    cluster.forEach((value, index) => {
      if (merged.has(value)) cluster[index] = target
    })
  }
  return cluster
}

function explain(
  tasks: readonly Task[],
  from: number,
  to: number,
  lambda: 0 | 1,
  flows: boolean,
  state: string,
): string {
  const left = tasks[from]!.path
  const right = tasks[to]!.path
  const when = lambda === 1 ? `in batch j + 1` : 'in the same batch'
  if (flows) return `${right} reads state ${state} ${when} as ${left} left it`
  const verb = tasks[from]!.writes.includes(state) ? 'wrote' : 'read'
  return `${right} writes state ${state} ${when}, after ${left} ${verb} it`
}

/** `reach[u]` holds every v with a path u -> v. */
function reachability(count: number, edges: readonly Dependence[]): Set<number>[] {
  const reach = Array.from({ length: count }, () => new Set<number>())
  for (const edge of edges) connect(reach, edge.from, edge.to)
  return reach
}

function connect(reach: Set<number>[], from: number, to: number): void {
  const gained = [to, ...reach[to]!]
  reach.forEach((set, index) => {
    if (index === from || set.has(from)) for (const target of gained) set.add(target)
  })
}
