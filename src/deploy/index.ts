export { buildTaskGraph } from './ir/build-task-graph.js'
export {
  definePipeline,
  type GraphBuilder,
  type PipelineHead,
  pipeline,
} from './ir/builder.js'
export type {
  EdgeMode,
  EngineNode,
  Graph,
  GraphNode,
  MemoryGiB,
  OperationNode,
  ParallelKind,
  Pipeline,
  PipelineEdge,
  PipelineNode,
  PipelineOutput,
  PipelineState,
  RunRate,
  TimesMs,
} from './ir/pipeline.js'
export { type ReadPipeline, readPipeline } from './ir/read-pipeline.js'
export { type PipelineInput, pipelineJsonSchema, pipelineSchema } from './ir/schema.js'
export {
  type Dependence,
  type DependenceCause,
  type FieldPath,
  repeats,
  type Task,
  type TaskGraph,
} from './ir/task-graph.js'
