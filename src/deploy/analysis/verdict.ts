/**
 * @module
 * The answer to one question of legality.
 */
import type { TaskGraph } from '../ir/task-graph.js'

export interface Verdict {
  readonly legal: boolean
  /** One sentence that names the state or edge. */
  readonly why: string
  readonly states: readonly string[]
  /** Indices of the dependences that decide. */
  readonly dependences: readonly number[]
}

export function verdict(
  legal: boolean,
  why: string,
  states: readonly string[] = [],
  dependences: readonly number[] = [],
): Verdict {
  return { legal, why, states, dependences }
}

/** Names of the tasks along some dependences. */
export function chain(graph: TaskGraph, path: readonly number[]): string {
  const edges = path.map((index) => graph.dependences[index]!)
  return [edges[0]!.from, ...edges.map((edge) => edge.to)]
    .map((task) => graph.tasks[task]!.path)
    .join(' -> ')
}
