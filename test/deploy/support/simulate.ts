/**
 * An independent simulation of section 8.1: instances (j, v) one by one, no folding into a period. It shares no code
 * with the schedules or bounds under test.
 */
import type { TimedGraph } from '../../../src/deploy/bounds/timed-graph.js'

export interface Trace {
  /** startMs[j][v] */
  readonly startMs: readonly (readonly number[])[]
  /** Y(j, k) */
  readonly readyMs: readonly (readonly number[])[]
}

/** Runs `batches` batches at period T: whenever resources are free, starts some ready instance chosen by `pick`. */
export function simulate(
  graph: TimedGraph,
  periodMs: number,
  batches: number,
  random: () => number,
  idle = 0,
): Trace {
  const count = graph.tauMs.length
  const start: number[][] = Array.from({ length: batches }, () =>
    new Array<number>(count).fill(Number.NaN),
  )
  const free = new Array<number>(graph.resourceCount).fill(0)
  const rest = new Set<number>()
  for (let index = 0; index < batches * count; index += 1) rest.add(index)
  while (rest.size > 0) {
    // Instances whose predecessors have all been started have a known earliest instant.
    const ready: { j: number; v: number; at: number }[] = []
    for (const index of rest) {
      const j = Math.floor(index / count)
      const v = index % count
      // Only a window of batches competes, as in a real runtime with bounded buffers.
      if (ready.length > 3 * count) break
      let at = graph.entries.includes(v) ? (j + 1) * periodMs : 0
      let known = true
      for (const edge of graph.edges) {
        if (edge.to !== v || j - edge.lambda < 0) continue
        const before = start[j - edge.lambda]![edge.from]!
        if (Number.isNaN(before)) known = false
        else at = Math.max(at, before + graph.tauMs[edge.from]! + edge.kappaMs)
      }
      if (!known) continue
      for (const resource of graph.resources[v]!) at = Math.max(at, free[resource]!)
      ready.push({ j, v, at })
    }
    const soonest = Math.min(...ready.map((item) => item.at))
    const now = ready.filter((item) => item.at <= soonest + random() * 6)
    const chosen = now[Math.floor(random() * now.length)]!
    const at = chosen.at + (random() < idle ? random() * 5 : 0)
    start[chosen.j]![chosen.v] = at
    for (const resource of graph.resources[chosen.v]!) free[resource] = at + graph.tauMs[chosen.v]!
    rest.delete(chosen.j * count + chosen.v)
  }
  return { startMs: start, readyMs: readyOf(graph, start) }
}

/** The trace that a cyclic schedule stands for. */
export function unroll(
  graph: TimedGraph,
  periodMs: number,
  startMs: readonly number[],
  batches: number,
): Trace {
  const start = Array.from({ length: batches }, (_, j) =>
    startMs.map((offset) => (j + 1) * periodMs + offset),
  )
  return { startMs: start, readyMs: readyOf(graph, start) }
}

/** The first rule of section 8.1.2 that a trace breaks, or undefined. */
export function violation(graph: TimedGraph, trace: Trace, periodMs: number): string | undefined {
  const slack = 1e-6 * Math.max(1, periodMs)
  const busy: { from: number; to: number; name: string }[][] = Array.from(
    { length: graph.resourceCount },
    () => [],
  )
  for (const [j, starts] of trace.startMs.entries()) {
    for (const [v, at] of starts.entries()) {
      if (!graph.periodic[v] && j > 0) continue
      const name = `(${j}, ${v})`
      if (graph.entries.includes(v) && at < (j + 1) * periodMs - slack) return `${name} before R_j`
      for (const edge of graph.edges) {
        if (edge.to !== v || j - edge.lambda < 0) continue
        const once = !graph.periodic[edge.from]
        if (once && j > 0) continue
        const end = trace.startMs[j - edge.lambda]![edge.from]! + graph.tauMs[edge.from]!
        if (at < end + edge.kappaMs - slack)
          return `${name} before (${j - edge.lambda}, ${edge.from}) is there`
      }
      for (const resource of graph.resources[v]!)
        busy[resource]!.push({ from: at, to: at + graph.tauMs[v]!, name })
    }
  }
  for (const [resource, list] of busy.entries()) {
    list.sort((a, b) => a.from - b.from)
    for (let index = 1; index < list.length; index += 1)
      if (list[index]!.from < list[index - 1]!.to - slack)
        return `${list[index]!.name} overlaps ${list[index - 1]!.name} on ${resource}`
  }
  return undefined
}

function readyOf(graph: TimedGraph, start: readonly (readonly number[])[]): number[][] {
  return start.map((starts) => graph.outputs.map((node) => starts[node]! + graph.tauMs[node]!))
}
