export { analyze, type Finding } from './analysis/analyze.js'
export { judge, type Transformation } from './analysis/judge.js'
export { renderSarif } from './analysis/render-sarif.js'
export { renderFindings } from './analysis/render-text.js'
export { RULES, type RuleName } from './analysis/rules.js'
export type { Verdict } from './analysis/verdict.js'
export {
  type DeploymentBounds,
  deploymentBounds,
  displayOffsetBound,
} from './bounds/deployment-bounds.js'
export { displayFeasible, displayOffset } from './bounds/display-offset.js'
export {
  type Gpu,
  HARDWARE,
  type Link,
  type Machine,
  type MachineOptions,
  machine,
} from './bounds/machine.js'
export { applyPlacement, type Placement } from './bounds/placement.js'
export type { TimedEdge, TimedGraph } from './bounds/timed-graph.js'
export { chromeTrace } from './emit/chrome-trace.js'
export type { EmittedFile } from './emit/engine-stages.js'
export { ganttHtml } from './emit/gantt-html.js'
export { emitMermaid } from './emit/mermaid.js'
export { emitSglangOmni } from './emit/sglang-omni.js'
export { emitVllmOmni } from './emit/vllm-omni.js'
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
export {
  type AttainedSchedule,
  attainLatency,
  attainPeriod,
  type CyclicSchedule,
} from './schedule/cyclic-schedule.js'
export type { Missing } from './search/missing.js'
export { type Plan, type PlanOptions, type PlanResult, plan } from './search/plan.js'
export { type PlanRow, paretoChart, planRow, renderPlans } from './search/render-plans.js'
