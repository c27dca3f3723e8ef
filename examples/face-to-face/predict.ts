/**
 * What the planner predicts for a deployment of the example, from whatever times its stages are given.
 */
import {
  applyPlacement,
  deploymentBounds,
  machine,
  type TaskGraph,
} from '../../src/deploy/index.js'
import { type Deployment, placementOf } from './deployments.js'

/** What a prediction is made from: the graph with its times, and what the harness's own way adds to a first output. */
export interface Costs {
  readonly graph: TaskGraph
  readonly wayMs: number
}

/** First-output latency, and rate once chunks flow. */
export interface Prediction {
  readonly latencyMs: number
  readonly ratePerSec: number | null
}

/** The planner's bounds for the placement; for the sequential program the sum of all it holds, since nothing overlaps. */
export function predict(
  { graph, wayMs }: Costs,
  deployment: Deployment | undefined,
  chunks: number,
): Prediction {
  if (deployment === undefined) {
    const sum = (rate: string): number =>
      graph.tasks
        .filter((task) => task.node.runs === rate)
        .reduce((total, task) => total + timeOfTask(task), 0)
    return { latencyMs: wayMs + sum('request') + chunks * sum('batch'), ratePerSec: null }
  }
  const timed = applyPlacement(
    graph,
    machine({ gpus: deployment.gpus }),
    placementOf(graph, deployment),
  )
  const { firstOutputMs, periodMs } = deploymentBounds(timed)
  return { latencyMs: wayMs + firstOutputMs, ratePerSec: 1000 / periodMs }
}

/** The declared holds times `scale`, by stage. */
export function scaledHolds(graph: TaskGraph, scale: number): ReadonlyMap<string, number> {
  return new Map(
    graph.tasks.map((task) => [task.path.split('/').at(-1)!, scale * timeOfTask(task)] as const),
  )
}

function timeOfTask(task: TaskGraph['tasks'][number]): number {
  return task.node.timesMs!.any!['1']!
}

/** The same pipeline with the times that were measured. */
export function withTimes(graph: TaskGraph, times: ReadonlyMap<string, number>): TaskGraph {
  return {
    ...graph,
    tasks: graph.tasks.map((task) => {
      const ms = times.get(task.path.split('/').at(-1)!)
      return ms === undefined
        ? task
        : { ...task, node: { ...task.node, timesMs: { any: { 1: ms } } } }
    }),
  }
}
