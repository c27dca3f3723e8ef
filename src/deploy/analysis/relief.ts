/**
 * @module
 * What a legal strategy could relieve, and by how much at most: against everything on one GPU, where period and latency
 * are sums. An upper limit to rank by, not a prediction; the search predicts.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import { leavesUnder } from './relations.js'
import type { RuleName } from './rules.js'

export interface Relief {
  readonly target: 'latency' | 'period'
  /** At most this much of the single-GPU figure, in ms; absent where nodes have no times. */
  readonly upToMs?: number
  readonly text: string
}

export function relief(
  graph: TaskGraph,
  rule: RuleName,
  nodes: readonly string[],
): Relief | undefined {
  const sides = nodes.map((name) => leavesUnder(graph, name))
  const times = sides.map((side) => sum(graph, side, 'all'))
  const work = sides.map((side) => sum(graph, side, 'batch'))
  const least = (values: readonly (number | undefined)[]): number | undefined =>
    values.some((value) => value === undefined) ? undefined : Math.min(...(values as number[]))
  const make = (target: Relief['target'], upToMs: number | undefined, text: string): Relief => ({
    target,
    ...(upToMs !== undefined && { upToMs: Math.round(upToMs * 1000) / 1000 }),
    text,
  })
  switch (rule) {
    case 'stream-edge':
      return make(
        'latency',
        undefined,
        `${nodes[1]} starts after one batch of ${nodes[0]}, not after the request`,
      )
    case 'stream-output':
      return make(
        'latency',
        undefined,
        'the first chunk is shown when it is ready, not when the request is complete',
      )
    case 'sequence-parallel':
    case 'tensor-parallel':
    case 'tile-parallel': {
      const saved = sides[0]!.reduce<number | undefined>((total, leaf) => {
        const gain = fastest(graph, leaf)
        return total === undefined || gain === undefined ? undefined : total + gain
      }, 0)
      return make('latency', saved, `${nodes[0]} takes less time on more GPUs`)
    }
    case 'co-locate':
      return make(
        'latency',
        transfer(graph, sides),
        'no transfer between them, and the whole group for each',
      )
    case 'disaggregate':
    case 'pipeline-batches':
      if (least(work) === 0)
        return make('period', undefined, 'what runs once does not interrupt the stream')
      return make('period', least(work), `the shorter of the two is hidden behind the longer`)
    case 'pipeline-steps': {
      const steps = sides[0]!.map((leaf) => sum(graph, [leaf], 'batch'))
      const known = steps.every((value) => value !== undefined)
      const total = known ? (steps as number[]).reduce((a, b) => a + b, 0) : undefined
      const longest = known ? Math.max(...(steps as number[])) : 0
      return make(
        'period',
        total === undefined ? undefined : total - longest,
        'one step per period instead of all',
      )
    }
    case 'parallel-branches':
      return make('latency', least(times), 'the shorter branch is hidden behind the longer')
    case 'asynchronous':
      return make('period', times[0], `${nodes[0]} does not hold up the stream`)
    default:
      return undefined
  }
}

/** Time on one GPU of the first hardware that has it. */
function single(graph: TaskGraph, leaf: number): number | undefined {
  for (const row of Object.values(graph.tasks[leaf]!.node.timesMs ?? {}))
    if (row['1'] !== undefined) return row['1']
  return undefined
}

function sum(
  graph: TaskGraph,
  leaves: readonly number[],
  which: 'all' | 'batch',
): number | undefined {
  let total = 0
  for (const leaf of leaves) {
    if (which === 'batch' && graph.tasks[leaf]!.node.runs !== 'batch') continue
    const time = single(graph, leaf)
    if (time === undefined) return undefined
    total += time
  }
  return total
}

/** What the best degree saves against one GPU. */
function fastest(graph: TaskGraph, leaf: number): number | undefined {
  const one = single(graph, leaf)
  if (one === undefined) return undefined
  const rows = Object.values(graph.tasks[leaf]!.node.timesMs ?? {})
  const row = rows.find((candidate) => candidate['1'] === one)!
  return one - Math.min(...Object.values(row))
}

function transfer(graph: TaskGraph, sides: readonly (readonly number[])[]): number | undefined {
  const costs = graph.dependences.flatMap((edge) =>
    edge.lambda === 0 && sides[0]!.includes(edge.from) && sides[1]!.includes(edge.to)
      ? [edge.costMs]
      : [],
  )
  return costs.some((cost) => cost === undefined)
    ? undefined
    : (costs as number[]).reduce((total, cost) => Math.max(total, cost), 0)
}
