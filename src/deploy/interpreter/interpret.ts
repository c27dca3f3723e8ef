/**
 * @module
 * Runs a task graph as the reference would: one request at a time, batch after batch, in topological order, on real
 * implementations. What differs from the reference afterwards is a mistake in the graph, in its annotations or in a node.
 */
import { HorizonError } from '../../core/errors.js'
import type { Task, TaskGraph } from '../ir/task-graph.js'
import type { Implementations, NodeResult } from './implementation.js'
import { type StateStore, stateStore } from './state-store.js'

/** One user request. */
export interface PipelineRequest {
  /** For entries that run once per request. */
  readonly request?: unknown
  /** One value per batch, for entries that run per batch. Absent: the nodes say which batch is the last. */
  readonly batches?: readonly unknown[]
  /** What happens in between: before batch `batch`, node `node` runs with `input`. */
  readonly events?: readonly {
    readonly batch: number
    readonly node: string
    readonly input: unknown
  }[]
}

export interface InterpretOptions {
  /** Values of states that are there beforehand, by qualified name. */
  readonly given?: Readonly<Record<string, unknown>>
  /** A request that is still going after so many batches is a mistake. @default 10_000 */
  readonly maxBatches?: number
}

/** A request under way: `step` runs one more batch and returns its chunks, or undefined when there are no more. */
export interface Interpretation {
  step(): Promise<readonly unknown[] | undefined>
}

/** Starts a request on fresh states. */
export function interpretation(
  graph: TaskGraph,
  nodes: Implementations,
  request: PipelineRequest,
  options: InterpretOptions = {},
): Interpretation {
  const states = stateStore(graph, options.given ?? {})
  const outputs = new Map<string, unknown>()
  const maxBatches = options.maxBatches ?? 10_000
  let batch = 0
  let ended = false

  const runAll = async (rate: 'request' | 'batch'): Promise<boolean> => {
    let last = false
    for (const [index, task] of graph.tasks.entries()) {
      if (task.node.runs !== rate) continue
      const input = rate === 'request' ? request.request : request.batches?.[batch]
      const isEntry = graph.entries.includes(index)
      const result = await runNode(graph, nodes, states, outputs, {
        task,
        batch,
        input: isEntry ? input : undefined,
      })
      outputs.set(task.path, result.output)
      last ||= result.last === true
    }
    return last
  }
  return {
    step: async () => {
      if (ended || (request.batches !== undefined && batch >= request.batches.length))
        return undefined
      if (batch >= maxBatches) throw endless(maxBatches)
      if (batch === 0) await runAll('request')
      for (const event of request.events ?? []) {
        if (event.batch !== batch) continue
        const task = eventTask(graph, event.node)
        const result = await runNode(graph, nodes, states, outputs, {
          task,
          batch,
          input: event.input,
        })
        outputs.set(task.path, result.output)
      }
      ended = await runAll('batch')
      batch++
      return chunksOf(graph, outputs)
    },
  }
}

/** Interprets one request to its end; all its chunks in order. */
export async function interpret(
  graph: TaskGraph,
  nodes: Implementations,
  request: PipelineRequest,
  options: InterpretOptions = {},
): Promise<unknown[]> {
  const running = interpretation(graph, nodes, request, options)
  const chunks: unknown[] = []
  for (;;) {
    const step = await running.step()
    if (step === undefined) return chunks
    chunks.push(...step)
  }
}

async function runNode(
  graph: TaskGraph,
  nodes: Implementations,
  states: StateStore,
  outputs: ReadonlyMap<string, unknown>,
  at: { readonly task: Task; readonly batch: number; readonly input: unknown },
): Promise<NodeResult> {
  const { task, batch, input } = at
  const index = graph.indexOf.get(task.path)
  const inputs: Record<string, unknown> = {}
  for (const edge of graph.dependences) {
    if (edge.cause !== 'data' || edge.to !== index) continue
    const from = graph.tasks[edge.from]!.path
    // A copy per consumer: a node that changes its input in place must not reach a sibling.
    inputs[from] = structuredClone(outputs.get(from))
  }
  const call = {
    path: task.path,
    batch,
    input: structuredClone(input),
    inputs,
    state: states.read(task),
  }
  let result: NodeResult
  try {
    result = await nodes.call(call)
  } catch (cause) {
    if (cause instanceof HorizonError) throw cause
    const text = cause instanceof Error ? cause.message : String(cause)
    throw new HorizonError('ERR_DEPLOY_INTERPRETER_NODE', `batch ${batch} failed: ${text}`, {
      field: task.path,
      hint: `It saw inputs ${names(inputs)} and states ${names(call.state)}; a missing edge or 'reads' shows up like this`,
      cause,
    })
  }
  if (typeof result !== 'object' || result === null || result.output === undefined) {
    throw new HorizonError('ERR_DEPLOY_INTERPRETER_RESULT', `batch ${batch} gave no output`, {
      field: task.path,
      expected: "{ output, state? } with an 'output' that is not undefined (null is a value)",
      got: result,
    })
  }
  states.write(task, result.state)
  return { ...result, output: structuredClone(result.output) }
}

/** The batch's chunks in order: `o(k)` names a node per chunk; a node with several gives an array of them. */
function chunksOf(graph: TaskGraph, outputs: ReadonlyMap<string, unknown>): unknown[] {
  const chunks: unknown[] = []
  for (let k = 0; k < graph.outputs.length; ) {
    const task = graph.tasks[graph.outputs[k]!]!
    let count = 1
    while (graph.outputs[k + count] === graph.outputs[k]) count++
    const value = outputs.get(task.path)
    if (count > 1 && (!Array.isArray(value) || value.length !== count)) {
      throw new HorizonError('ERR_DEPLOY_INTERPRETER_CHUNKS', 'wrong number of chunks in a batch', {
        field: task.path,
        expected: `an array of ${count} chunks, as the output map says`,
        got: value,
      })
    }
    chunks.push(...(count > 1 ? (value as unknown[]) : [value]))
    k += count
  }
  return chunks
}

function eventTask(graph: TaskGraph, path: string): Task {
  const index = graph.indexOf.get(path)
  const task = index === undefined ? undefined : graph.tasks[index]
  if (task?.node.runs === 'event') return task
  throw new HorizonError('ERR_DEPLOY_INTERPRETER_EVENT', 'no such event node', {
    field: path,
    expected: `one of ${
      graph.tasks
        .filter((item) => item.node.runs === 'event')
        .map((item) => item.path)
        .join(', ') || '(the pipeline has none)'
    }`,
    got: path,
  })
}

function endless(maxBatches: number): HorizonError {
  return new HorizonError('ERR_DEPLOY_INTERPRETER_ENDLESS', 'the request does not end', {
    expected: `a node that returns 'last: true' within ${maxBatches} batches, or a list of batches`,
    got: maxBatches,
  })
}

function names(record: Readonly<Record<string, unknown>>): string {
  return Object.keys(record).join(', ') || '(none)'
}
