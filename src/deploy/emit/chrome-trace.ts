/**
 * @module
 * A schedule in the Chrome trace event format (JSON object form), for chrome://tracing and Perfetto.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import { gantt } from './gantt.js'

export function chromeTrace(graph: TaskGraph, plan: Plan, batches = 6): string {
  const { bars, rows } = gantt(graph, plan, batches)
  const traceEvents = [
    { name: 'process_name', ph: 'M', pid: 1, tid: 0, args: { name: graph.pipeline.name } },
    ...rows.map(({ resource, name }) => ({
      name: 'thread_name',
      ph: 'M',
      pid: 1,
      tid: resource,
      args: { name },
    })),
    ...bars.map((bar) => ({
      name: graph.tasks[bar.task]!.path,
      cat: bar.batch < 0 ? 'once' : 'batch',
      ph: 'X',
      pid: 1,
      tid: bar.resource,
      // The format counts microseconds.
      ts: Math.round(bar.startMs * 1000),
      dur: Math.round((bar.endMs - bar.startMs) * 1000),
      args: bar.batch < 0 ? {} : { batch: bar.batch },
    })),
  ]
  return `${JSON.stringify({ displayTimeUnit: 'ms', traceEvents })}\n`
}
