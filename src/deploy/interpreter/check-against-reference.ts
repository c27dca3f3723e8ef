/**
 * @module
 * Compares the interpreted graph with the plain reference, element by element, under three schedules: requests in order, in
 * reverse, and interleaved batch by batch. The last two find what the first cannot: state kept outside the declared states,
 * which leaks from one request into another.
 */
import { type Difference, EXACT, firstDifference, type Tolerances } from '../harness/compare.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Implementations } from './implementation.js'
import {
  type InterpretOptions,
  interpret,
  interpretation,
  type PipelineRequest,
} from './interpret.js'

/** The plain program: a request in, all its chunks out. Called once per request, each time as if it were the first. */
export type Reference = (request: PipelineRequest) => unknown[] | Promise<unknown[]>

export type Schedule = 'in order' | 'reversed' | 'interleaved'

/** Where the graph first departed from the reference. */
export interface Departure extends Difference {
  readonly request: number
  readonly schedule: Schedule
}

export interface CheckReport {
  readonly equal: boolean
  readonly requests: number
  /** Chunks compared, over all schedules. */
  readonly chunks: number
  readonly departure?: Departure
}

export interface CheckOptions extends InterpretOptions {
  /** @default exact, to the bit */
  readonly tolerances?: Tolerances
}

/** Runs `requests` through both and returns the first departure. Throws when a node breaks its own annotations. */
export async function checkAgainstReference(
  graph: TaskGraph,
  nodes: Implementations,
  reference: Reference,
  requests: readonly PipelineRequest[],
  options: CheckOptions = {},
): Promise<CheckReport> {
  const expected: unknown[][] = []
  for (const request of requests) expected.push(await reference(structuredClone(request)))
  const tolerances = options.tolerances ?? EXACT
  let chunks = 0
  const compare = (index: number, got: unknown[], schedule: Schedule): Departure | undefined => {
    chunks += got.length
    const difference = firstDifference(expected[index], got, tolerances)
    return difference && { ...difference, request: index, schedule }
  }
  const report = (departure?: Departure): CheckReport => ({
    equal: departure === undefined,
    requests: requests.length,
    chunks,
    ...(departure && { departure }),
  })
  const forward = requests.map((_, index) => index)
  for (const schedule of ['in order', 'reversed'] as const) {
    for (const index of schedule === 'in order' ? forward : forward.toReversed()) {
      const got = await interpret(graph, nodes, requests[index]!, options)
      const departure = compare(index, got, schedule)
      if (departure !== undefined) return report(departure)
    }
  }
  const interleaved = await interpretInterleaved(graph, nodes, requests, options)
  for (const index of forward) {
    const departure = compare(index, interleaved[index]!, 'interleaved')
    if (departure !== undefined) return report(departure)
  }
  return report()
}

async function interpretInterleaved(
  graph: TaskGraph,
  nodes: Implementations,
  requests: readonly PipelineRequest[],
  options: InterpretOptions,
): Promise<unknown[][]> {
  const running = requests.map((request) => interpretation(graph, nodes, request, options))
  const chunks: unknown[][] = requests.map(() => [])
  let active = true
  while (active) {
    active = false
    for (const [index, request] of running.entries()) {
      const step = await request.step()
      if (step === undefined) continue
      active = true
      chunks[index]!.push(...step)
    }
  }
  return chunks
}
