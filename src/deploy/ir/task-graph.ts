/**
 * @module
 * The flat task graph of a pipeline: leaf nodes by path, and dependences between their instances. `lambda` is the batch
 * shift of FlashRT section 8.1.2: instance (j, to) waits for (j - lambda, from). Nothing here knows of placements.
 */
import type { EdgeMode, EngineNode, OperationNode, Pipeline, PipelineState } from './pipeline.js'

/** Where something stands in the pipeline record, for naming it and for finding its line: `['edges', 2]`. */
export type FieldPath = readonly (string | number)[]

/** A leaf node. Its index in `TaskGraph.tasks` is its identity; indices follow the order of the reference program. */
export interface Task {
  /** `s2v/dit1`. */
  readonly path: string
  readonly node: OperationNode | EngineNode
  /** Qualified names (`s2v/kv1`) of the states it reads and writes. */
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** Path of the nearest enclosing graph whose children are denoising steps. */
  readonly steps?: string
  readonly at: FieldPath
}

/** Why an instance waits: a data edge, a persistent state, or a blocking hand-over between batches. */
export type DependenceCause = 'data' | 'state' | 'handover'

export interface Dependence {
  readonly from: number
  readonly to: number
  readonly lambda: 0 | 1
  readonly cause: DependenceCause
  /** Of the data edge; state and hand-over dependences are `blocking`. */
  readonly mode: EdgeMode
  /** Cost when `from` and `to` stand on different groups, in ms; absent: `payloadBytes` over the hardware's link. */
  readonly costMs?: number
  readonly payloadBytes: number
  /** Qualified name of the state that causes it. */
  readonly state?: string
  /** One sentence: why it must hold. */
  readonly why: string
  /** The edge or node it comes from. */
  readonly at: FieldPath
}

export interface TaskGraph {
  readonly pipeline: Pipeline
  readonly tasks: readonly Task[]
  /** Data edges first, then derived ones. Edges out of request- and event-rate tasks bind the first output only. */
  readonly dependences: readonly Dependence[]
  readonly states: ReadonlyMap<string, PipelineState>
  /** Indices of `V_in`. */
  readonly entries: readonly number[]
  /** `o(k)` for k = 0 … N - 1. */
  readonly outputs: readonly number[]
  /** For each task the number of its colocation cluster: tasks of one cluster touch one pinned, written state. */
  readonly clusters: readonly number[]
  readonly indexOf: ReadonlyMap<string, number>
}

/** True for dependences that repeat with every batch; the others (from `request` and `event` tasks) happen once. */
export function repeats(graph: TaskGraph, dependence: Dependence): boolean {
  return (
    graph.tasks[dependence.from]!.node.runs === 'batch' &&
    graph.tasks[dependence.to]!.node.runs === 'batch'
  )
}
