/**
 * @module
 * Pipeline to task graph: flatten, order, check, derive. Throws one `HorizonError` that lists every issue found;
 * `locate` turns the place of an issue into something a reader can jump to, such as `agent.yaml:12`.
 */
import { HorizonError } from '../../core/errors.js'
import { checkFlow, checkStates, checkTasks } from './check.js'
import { flatten, type Issue, leavesOf } from './flatten.js'
import type { Pipeline } from './pipeline.js'
import { deriveDependences, pinnedClusters } from './state-edges.js'
import type { Dependence, FieldPath, TaskGraph } from './task-graph.js'
import { topologicalOrder } from './topology.js'

/** Names the place of a field: `worldplay.yaml:12` for a file, `nodes.dit.timesMs` without one. */
export type Locate = (at: FieldPath) => string

/** @example const graph = buildTaskGraph(pipeline) */
export function buildTaskGraph(pipeline: Pipeline, locate: Locate = dotted): TaskGraph {
  const issues: Issue[] = []
  const flat = flatten(pipeline, issues)
  const listed = new Map(flat.tasks.map((task, index) => [task.path, index]))
  const listedEdges = flat.edges.map((leaf) => ({
    ...leaf,
    from: listed.get(leaf.from)!,
    to: listed.get(leaf.to)!,
  }))
  const sorted = topologicalOrder(flat.tasks.length, listedEdges)
  if ('cycle' in sorted) {
    const names = sorted.cycle.map((index) => flat.tasks[index]!.path)
    const back = listedEdges.find(
      (edge) => edge.from === sorted.cycle.at(-1) && edge.to === sorted.cycle[0],
    )!
    issues.push({
      code: 'ERR_DEPLOY_CYCLE',
      at: back.at,
      text: `data flows in a cycle inside one batch: ${[...names, names[0]].join(' -> ')}; feedback to the next batch is a state, not an edge`,
    })
    fail(issues, locate)
  }
  // Reference order: the listing, moved only as far as data demands.
  const { order } = sorted
  const position = new Map(order.map((old, index) => [old, index]))
  const tasks = order.map((index) => flat.tasks[index]!)
  const indexOf = new Map(tasks.map((task, index) => [task.path, index]))
  const data: Dependence[] = listedEdges.map((leaf) => ({
    from: position.get(leaf.from)!,
    to: position.get(leaf.to)!,
    lambda: 0,
    cause: 'data',
    mode: leaf.edge.mode,
    payloadBytes: leaf.edge.payloadBytes,
    ...(leaf.edge.transferMs !== undefined && { costMs: leaf.edge.transferMs }),
    why: `${tasks[position.get(leaf.to)!]!.path} needs the output of ${tasks[position.get(leaf.from)!]!.path}`,
    at: leaf.at,
  }))
  const entries = pipeline.entries.flatMap((name, index) =>
    leavesOf(pipeline, name, 'inputs', ['entries', index], issues).map(
      (path) => indexOf.get(path)!,
    ),
  )
  const outputs = pipeline.outputs.flatMap((output, index) => {
    const leaves = leavesOf(pipeline, output.node, 'outputs', ['outputs', index, 'node'], issues)
    if (leaves.length > 1)
      issues.push({
        code: 'ERR_DEPLOY_OUTPUTS',
        at: ['outputs', index, 'node'],
        text: `'${output.node}' has ${leaves.length} outputs (${leaves.join(', ')}); name one of them`,
      })
    const leaf = leaves[0]
    if (leaf === undefined) return []
    return new Array<number>(Math.max(0, output.chunks)).fill(indexOf.get(leaf)!)
  })
  const before = paths(tasks.length, data)
  checkTasks(tasks, issues)
  checkStates(flat, tasks, before, issues)
  checkFlow(pipeline, tasks, data, entries, outputs, before, issues)
  if (issues.length > 0) fail(issues, locate)
  const dependences = [...data, ...deriveDependences(tasks, data, flat.states)]
  const clusters = pinnedClusters(tasks, flat.states)
  return { pipeline, tasks, dependences, states: flat.states, entries, outputs, clusters, indexOf }
}

/** The place of a field in words, for pipelines built in code. */
export function dotted(at: FieldPath): string {
  return at
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index ? `.${part}` : part))
    .join('')
}

/** Throws one error for all issues: the code of the first, one line each. */
export function fail(issues: readonly Issue[], locate: Locate): never {
  const lines = issues.map((issue) => `${locate(issue.at)}: ${issue.text}`)
  throw new HorizonError(issues[0]!.code, lines.join('\n'))
}

function paths(count: number, edges: readonly Dependence[]): (from: number, to: number) => boolean {
  const reach = Array.from({ length: count }, () => new Set<number>())
  // Indices are a topological order, so successors are complete before they are used.
  for (let from = count - 1; from >= 0; from -= 1)
    for (const edge of edges)
      if (edge.from === from) for (const to of [edge.to, ...reach[edge.to]!]) reach[from]!.add(to)
  return (from, to) => reach[from]!.has(to)
}
