/**
 * @module
 * Legality that persistent state and paths decide: standing apart, running at once, overlapping across batches.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import { closesCycle, leavesUnder, pathBetween, sharedStates } from './relations.js'
import { chain, type Verdict, verdict } from './verdict.js'

export function judgeDisaggregation(graph: TaskGraph, names: readonly [string, string]): Verdict {
  const [a, b] = names.map((name) => leavesUnder(graph, name)) as [
    readonly number[],
    readonly number[],
  ]
  const { written, readOnly } = sharedStates(graph, a, b)
  const pinned = written.filter((name) => graph.states.get(name)!.moveMs === undefined)
  if (pinned.length > 0)
    return verdict(
      false,
      `${names.join(' and ')} share state ${pinned.join(', ')}, which is written and pinned to one group (no moveMs)`,
      pinned,
    )
  // A chain of pinned states may hold two nodes together that share none of them.
  const held = a.find((left) => b.some((right) => graph.clusters[left] === graph.clusters[right]))
  if (held !== undefined)
    return verdict(
      false,
      `${names.join(' and ')} are held on one group by pinned states between them`,
    )
  if (written.length > 0) {
    const cost = written.reduce((sum, name) => sum + graph.states.get(name)!.moveMs!, 0)
    return verdict(
      true,
      `${names.join(' and ')} share state ${written.join(', ')}, which moves between groups in ${cost} ms`,
      written,
    )
  }
  if (readOnly.length > 0)
    return verdict(
      true,
      `${names.join(' and ')} only read ${readOnly.join(', ')} together: each group keeps a copy`,
      readOnly,
    )
  return verdict(true, `${names.join(' and ')} have no persistent state in common`)
}

export function judgeBranches(graph: TaskGraph, names: readonly [string, string]): Verdict {
  const [a, b] = names.map((name) => leavesUnder(graph, name)) as [
    readonly number[],
    readonly number[],
  ]
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    const path = pathBetween(graph, from, to)
    if (path === undefined) continue
    const state = path
      .map((index) => graph.dependences[index]!)
      .find((edge) => edge.cause === 'state')
    return verdict(
      false,
      state === undefined
        ? `data flows from one to the other: ${chain(graph, path)}`
        : `state ${state.state} orders them: ${state.why}`,
      state?.state === undefined ? [] : [state.state],
      path,
    )
  }
  const held = a.find((left) => b.some((right) => graph.clusters[left] === graph.clusters[right]))
  if (held !== undefined)
    return verdict(false, `${names.join(' and ')} are held on one group by a pinned state`)
  return verdict(true, `neither data nor state leads from ${names[0]} to ${names[1]} or back`)
}

export function judgePipeline(graph: TaskGraph, names: readonly [string, string]): Verdict {
  const [a, b] = names.map((name) => leavesUnder(graph, name)) as [
    readonly number[],
    readonly number[],
  ]
  for (const [index, side] of [a, b].entries()) {
    const once = side.find((leaf) => graph.tasks[leaf]!.node.runs !== 'batch')
    if (once !== undefined && side.every((leaf) => graph.tasks[leaf]!.node.runs !== 'batch'))
      return verdict(
        false,
        `${names[index]} runs once per ${graph.tasks[once]!.node.runs}, so it has no next batch`,
      )
  }
  const separate = judgeDisaggregation(graph, names)
  if (!separate.legal) return separate
  const closing = closesCycle(graph, a, b)
  if (closing === undefined)
    return verdict(true, `nothing of the next batch of ${names[0]} waits for ${names[1]}`)
  const edge = graph.dependences[closing]!
  return verdict(
    false,
    `they wait for each other across batches: ${edge.why}`,
    edge.state === undefined ? [] : [edge.state],
    [closing],
  )
}

export function judgeShare(graph: TaskGraph, names: readonly [string, string]): Verdict {
  const [a, b] = names.map((name) => leavesUnder(graph, name)) as [
    readonly number[],
    readonly number[],
  ]
  const { written, readOnly } = sharedStates(graph, a, b)
  if (written.length > 0)
    return verdict(
      false,
      `state ${written.join(', ')} is written, so its readers are ordered`,
      written,
    )
  return readOnly.length > 0
    ? verdict(
        true,
        `${names.join(' and ')} only read ${readOnly.join(', ')}: no order, one copy per group`,
        readOnly,
      )
    : verdict(false, `${names.join(' and ')} read no state in common`)
}

export function judgeSteps(graph: TaskGraph, name: string): Verdict {
  const steps = leavesUnder(graph, name)
  if (steps.length < 2)
    return verdict(false, `${name} has one step; expose its steps as nodes of a nested graph`)
  for (const [index, left] of steps.entries())
    for (const right of steps.slice(index + 1)) {
      const pair = [graph.tasks[left]!.path, graph.tasks[right]!.path] as const
      const found = judgePipeline(graph, pair)
      if (!found.legal)
        return { ...found, why: `steps ${pair.join(' and ')} cannot overlap: ${found.why}` }
    }
  const own = steps.flatMap((step) => graph.tasks[step]!.writes)
  return verdict(
    true,
    `each of the ${steps.length} steps keeps state of its own (${own.join(', ') || 'none'})`,
    own,
  )
}

export function judgeCoLocation(graph: TaskGraph, names: readonly [string, string]): Verdict {
  const leaves = names.flatMap((name) => leavesUnder(graph, name))
  const cpu = leaves.find((leaf) => graph.tasks[leaf]!.node.device === 'cpu')
  if (cpu !== undefined) return verdict(false, `${graph.tasks[cpu]!.path} runs on the CPU`)
  const timed = leaves.filter((leaf) => graph.tasks[leaf]!.node.timesMs !== undefined)
  const degrees = timed.map((leaf) => degreesOf(graph, leaf))
  const common = [...(degrees[0] ?? [])].filter((pair) => degrees.every((set) => set.has(pair)))
  if (timed.length > 0 && common.length === 0)
    return verdict(false, `${names.join(' and ')} have no parallel degree in common`)
  const most = Math.max(1, ...common.map((pair) => Number(pair.split('/')[1])))
  return verdict(
    true,
    `${names.join(' and ')} can share one group${timed.length > 0 ? ` of up to ${most} GPU${most > 1 ? 's' : ''}` : ''}`,
  )
}

function degreesOf(graph: TaskGraph, leaf: number): Set<string> {
  const times = graph.tasks[leaf]!.node.timesMs ?? {}
  return new Set(
    Object.entries(times).flatMap(([hardware, row]) =>
      Object.keys(row).map((degree) => `${hardware}/${degree}`),
    ),
  )
}
