/**
 * @module
 * Legality that edges and a node's own annotations decide: streaming, splitting a node, running beside the stream.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import { leavesUnder } from './relations.js'
import { PARALLEL_RULES } from './rules.js'
import { chain, type Verdict, verdict } from './verdict.js'

export function judgeStream(graph: TaskGraph, from: string, to: string): Verdict {
  const sources = leavesUnder(graph, from)
  const targets = leavesUnder(graph, to)
  const edges = graph.dependences.flatMap((edge, index) =>
    edge.cause === 'data' && sources.includes(edge.from) && targets.includes(edge.to)
      ? [index]
      : [],
  )
  if (edges.length === 0) return verdict(false, `no data flows from ${from} to ${to}`)
  const blocking = edges.filter((index) => graph.dependences[index]!.mode === 'blocking')
  return blocking.length > 0
    ? verdict(
        false,
        `the edge ${from} -> ${to} is blocking: ${to} needs the whole output of ${from}`,
        [],
        blocking,
      )
    : verdict(
        true,
        `the edge ${from} -> ${to} is streaming: ${to} takes each batch as it comes`,
        [],
        edges,
      )
}

export function judgeOutput(graph: TaskGraph, name: string): Verdict {
  const leaves = leavesUnder(graph, name)
  const { outputs } = graph.pipeline
  const mine = outputs.filter((output) =>
    leavesUnder(graph, output.node).some(
      (leaf) => leaves.includes(leaf) && graph.outputs.includes(leaf),
    ),
  )
  if (mine.length === 0) return verdict(false, `${name} is no output`)
  return mine.every((output) => output.mode === 'streaming')
    ? verdict(true, `output ${name} is streaming: a chunk is shown while later ones are made`)
    : verdict(false, `output ${name} is blocking: nothing is shown before the request is complete`)
}

export function judgeSplit(
  graph: TaskGraph,
  rule: 'sequence-parallel' | 'tensor-parallel' | 'tile-parallel',
  name: string,
): Verdict {
  const kind = (Object.keys(PARALLEL_RULES) as (keyof typeof PARALLEL_RULES)[]).find(
    (key) => PARALLEL_RULES[key] === rule,
  )!
  const refusing = leavesUnder(graph, name).filter(
    (leaf) => !graph.tasks[leaf]!.node.parallel.includes(kind),
  )
  return refusing.length === 0
    ? verdict(true, `${name} allows ${kind} parallelism`)
    : verdict(false, `${graph.tasks[refusing[0]!]!.path} does not list '${kind}' under parallel`)
}

export function judgeAsynchronous(graph: TaskGraph, name: string): Verdict {
  const leaves = leavesUnder(graph, name)
  const batch = leaves.find((leaf) => graph.tasks[leaf]!.node.runs === 'batch')
  if (batch !== undefined)
    return verdict(
      false,
      `${graph.tasks[batch]!.path} runs in every batch, so it is part of the period`,
    )
  const held = graph.dependences.flatMap((edge, index) =>
    leaves.includes(edge.from) &&
    graph.tasks[edge.to]!.node.runs === 'batch' &&
    edge.mode === 'blocking' &&
    graph.tasks[edge.from]!.node.runs === 'event'
      ? [index]
      : [],
  )
  if (held.length > 0)
    return verdict(
      false,
      `the edge ${chain(graph, held.slice(0, 1))} is blocking: the stream waits for every event`,
      [],
      held,
    )
  const when = graph.tasks[leaves[0]!]!.node.runs === 'event' ? 'on an event' : 'once per request'
  return verdict(true, `${name} runs ${when}: it enters the first-output latency, not the period`)
}
