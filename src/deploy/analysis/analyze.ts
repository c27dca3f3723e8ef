/**
 * @module
 * The static analysis of a pipeline: every strategy its shape suggests, judged. No hardware and no placement is needed;
 * where nodes have times, a finding also says what it could relieve and by how much at most.
 */
import type { Graph } from '../ir/pipeline.js'
import type { FieldPath, TaskGraph } from '../ir/task-graph.js'
import { judge, type Transformation } from './judge.js'
import { reachOf } from './reach.js'
import { leavesUnder } from './relations.js'
import { type Relief, relief } from './relief.js'
import { PARALLEL_RULES, RULES, type RuleName } from './rules.js'
import type { Verdict } from './verdict.js'

export interface Finding extends Verdict {
  readonly rule: RuleName
  /** `HSD302`. */
  readonly id: string
  /** Names of the nodes or graphs it is about. */
  readonly nodes: readonly string[]
  /** The bottleneck that it could relieve; absent for refusals and where times are missing. */
  readonly relieves?: Relief
  /** Where to point: an edge or a node of the pipeline. */
  readonly at: FieldPath
}

/** Findings in a fixed order: by rule, legal ones first, then in the order of the reference program. */
export function analyze(graph: TaskGraph): Finding[] {
  const findings: Finding[] = []
  const add = (change: Transformation, nodes: readonly string[], at: FieldPath): void => {
    const found = judge(graph, change)
    const helps = found.legal ? relief(graph, change.rule, nodes) : undefined
    findings.push({
      rule: change.rule,
      id: RULES[change.rule].id,
      nodes,
      ...found,
      ...(helps && { relieves: helps }),
      at,
    })
  }
  for (const edge of graph.dependences) {
    if (edge.cause !== 'data') continue
    const from = graph.tasks[edge.from]!.path
    const to = graph.tasks[edge.to]!.path
    add({ rule: 'stream-edge', from, to }, [from, to], edge.at)
  }
  graph.pipeline.outputs.forEach((output, index) => {
    add({ rule: 'stream-output', node: output.node }, [output.node], ['outputs', index])
  })
  for (const task of graph.tasks) {
    for (const kind of task.node.parallel)
      if (kind !== 'steps')
        add({ rule: PARALLEL_RULES[kind], node: task.path }, [task.path], task.at)
    if (task.node.runs !== 'batch')
      add({ rule: 'asynchronous', node: task.path }, [task.path], task.at)
  }
  for (const level of levels(graph.pipeline, '', [])) {
    if (level.steps) add({ rule: 'pipeline-steps', graph: level.name }, [level.name], level.at)
    level.names.forEach((left, index) => {
      for (const right of level.names.slice(index + 1)) pairs(graph, left, right, level.at, add)
    })
  }
  const order = Object.keys(RULES)
  return findings
    .map((finding, index) => ({ finding, index }))
    .sort(
      (a, b) =>
        order.indexOf(a.finding.rule) - order.indexOf(b.finding.rule) ||
        Number(b.finding.legal) - Number(a.finding.legal) ||
        a.index - b.index,
    )
    .map(({ finding }) => finding)
}

/** Everything two siblings suggest. What nobody would try (running a consumer before its producer) is left out. */
function pairs(
  graph: TaskGraph,
  left: string,
  right: string,
  at: FieldPath,
  add: (change: Transformation, nodes: readonly string[], at: FieldPath) => void,
): void {
  const nodes = [left, right] as const
  const leaves = nodes.map((name) => leavesUnder(graph, name)) as [
    readonly number[],
    readonly number[],
  ]
  const gpu = leaves.every((side) => side.every((leaf) => graph.tasks[leaf]!.node.device === 'gpu'))
  const reach = reachOf(graph)
  const joined = reach.adjacent(leaves[0], leaves[1])
  // Most pairs of a large pipeline have nothing to do with each other: seen here, before anything is put in words.
  const stateful = leaves.every((side) => side.some((leaf) => reach.touches[leaf]!.length > 0))
  const shared = stateful ? judge(graph, { rule: 'share-read', nodes }) : undefined
  if (shared?.legal) add({ rule: 'share-read', nodes }, nodes, at)
  if (gpu && (joined || (shared !== undefined && shared.states.length > 0))) {
    add({ rule: 'co-locate', nodes }, nodes, at)
    add({ rule: 'disaggregate', nodes }, nodes, at)
  }
  const perBatch = leaves.every((side) =>
    side.some((leaf) => graph.tasks[leaf]!.node.runs === 'batch'),
  )
  if (joined && perBatch) add({ rule: 'pipeline-batches', nodes }, nodes, at)
  const ordered = leaves[0].some((left) =>
    leaves[1].some((right) => reach.reaches(left, right) || reach.reaches(right, left)),
  )
  if (ordered && !reach.ordersByState) return
  const branches = judge(graph, { rule: 'parallel-branches', nodes })
  if (branches.legal || branches.states.length > 0)
    add({ rule: 'parallel-branches', nodes }, nodes, at)
}

interface Level {
  readonly name: string
  readonly names: readonly string[]
  readonly steps: boolean
  readonly at: FieldPath
}

function levels(graph: Graph, prefix: string, at: FieldPath): Level[] {
  const names = Object.keys(graph.nodes).map((name) => prefix + name)
  const steps = 'parallel' in graph && (graph.parallel as readonly string[]).includes('steps')
  const own: Level = { name: prefix.slice(0, -1), names, steps, at }
  return [
    own,
    ...Object.entries(graph.nodes).flatMap(([name, node]) =>
      node.kind === 'graph' ? levels(node, `${prefix}${name}/`, [...at, 'nodes', name]) : [],
    ),
  ]
}
