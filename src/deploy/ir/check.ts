/**
 * @module
 * What a pipeline must mean beyond its form: names lead somewhere, data flows without a cycle, every state is written
 * before it is read, every degree has its memory and its kind of parallelism. All issues are collected.
 */
import type { Flat, Issue } from './flatten.js'
import type { Pipeline } from './pipeline.js'
import type { Task } from './task-graph.js'

/** Issues of single nodes: degrees, memory, run shares. */
export function checkTasks(tasks: readonly Task[], issues: Issue[]): void {
  for (const { path, node, at } of tasks) {
    const say = (code: Issue['code'], field: string, text: string): void => {
      issues.push({ code, at: [...at, field], text: `node ${path}: ${text}` })
    }
    if (node.parallel.includes('steps'))
      say('ERR_DEPLOY_PARALLEL', 'parallel', 'only a nested graph has steps; make its steps nodes')
    if (node.runs === 'batch' && node.runsPerBatch !== 1)
      say('ERR_DEPLOY_RUNS', 'runsPerBatch', 'a node that runs per batch runs once per batch')
    for (const [hardware, row] of Object.entries(node.timesMs ?? {})) {
      for (const [degree, time] of Object.entries(row)) {
        if (!(time > 0) || !Number.isFinite(time))
          say(
            'ERR_DEPLOY_TIME',
            'timesMs',
            `time at ${hardware}, ${degree} GPUs must be above 0 ms, got ${time}`,
          )
        if (Number(degree) > 1 && node.device === 'cpu')
          say('ERR_DEPLOY_PARALLEL', 'timesMs', 'a node on the CPU has one time, of degree 1')
        else if (Number(degree) > 1 && node.parallel.length === 0)
          say(
            'ERR_DEPLOY_PARALLEL',
            'timesMs',
            `has a time on ${degree} GPUs but allows no parallelism; add 'parallel: [sequence]' or what it is`,
          )
        if (typeof node.memoryGiB === 'object' && node.memoryGiB[degree] === undefined)
          say('ERR_DEPLOY_MEMORY', 'memoryGiB', `has a time but no memory on ${degree} GPUs`)
      }
    }
  }
}

/** Issues of states: owners, and reads that nothing was written for. `before(u, v)`: u runs before v in a batch. */
export function checkStates(
  flat: Flat,
  tasks: readonly Task[],
  before: (from: number, to: number) => boolean,
  issues: Issue[],
): void {
  for (const [name, state] of flat.states) {
    const at = flat.statesAt.get(name)!
    const users = tasks.filter((task) => task.reads.includes(name) || task.writes.includes(name))
    const owner = state.owner
    if (
      owner !== undefined &&
      !users.some((task) => task.path === owner || task.path.endsWith(`/${owner}`))
    )
      issues.push({
        code: 'ERR_DEPLOY_STATE_OWNER',
        at: [...at, 'owner'],
        text: `state ${name}: owner '${owner}' neither reads nor writes it`,
      })
    if (state.initial !== 'none') continue
    const writers = tasks.flatMap((task, index) => (task.writes.includes(name) ? [index] : []))
    tasks.forEach((task, index) => {
      if (!task.reads.includes(name) || task.writes.includes(name)) return
      if (writers.some((writer) => before(writer, index))) return
      const never = writers.length === 0
      issues.push({
        code: 'ERR_DEPLOY_STATE_UNWRITTEN',
        at: [...task.at, 'reads'],
        text: `node ${task.path} reads state ${name} before anyone writes it: ${
          never ? 'no node writes it' : `in batch 0 ${tasks[writers[0]!]!.path} has not run yet`
        }; say 'initial: given' or 'initial: empty' if it is there beforehand`,
      })
    })
  }
}

/** Issues of entries and outputs, and of edges whose two ends run at rates that do not fit. */
export function checkFlow(
  pipeline: Pipeline,
  tasks: readonly Task[],
  edges: readonly { from: number; to: number; at: Issue['at'] }[],
  entries: readonly number[],
  outputs: readonly number[],
  before: (from: number, to: number) => boolean,
  issues: Issue[],
): void {
  for (const edge of edges) {
    const from = tasks[edge.from]!
    const to = tasks[edge.to]!
    if (from.node.runs === 'batch' && to.node.runs !== 'batch')
      issues.push({
        code: 'ERR_DEPLOY_RATE',
        at: edge.at,
        text: `${to.path} runs once per ${to.node.runs} but needs ${from.path}, which runs per batch`,
      })
  }
  const total = pipeline.outputs.reduce((sum, output) => sum + output.chunks, 0)
  if (total !== pipeline.chunksPerBatch || pipeline.outputs.some((output) => output.chunks < 1))
    issues.push({
      code: 'ERR_DEPLOY_OUTPUTS',
      at: ['outputs'],
      text: `outputs release ${total} chunks, but chunksPerBatch is ${pipeline.chunksPerBatch}; give each output its 'chunks'`,
    })
  for (const [k, output] of [...new Set(outputs)].entries()) {
    const task = tasks[output]!
    if (task.node.runs !== 'batch')
      issues.push({
        code: 'ERR_DEPLOY_OUTPUTS',
        at: ['outputs', k],
        text: `output ${task.path} runs once per ${task.node.runs}, not per batch`,
      })
    if (!entries.some((entry) => entry === output || before(entry, output)))
      issues.push({
        code: 'ERR_DEPLOY_OUTPUTS',
        at: ['outputs', k],
        text: `output ${task.path} is reached from no entry, so its latency means nothing`,
      })
  }
}
