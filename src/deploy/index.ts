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
  type HardwareKind,
  type Link,
  type Machine,
  type MachineOptions,
  machine,
} from './bounds/machine.js'
export { applyPlacement, type Placement } from './bounds/placement.js'
export { readHardware } from './bounds/read-hardware.js'
export type { TimedEdge, TimedGraph } from './bounds/timed-graph.js'
export { chromeTrace } from './emit/chrome-trace.js'
export type { EmittedFile } from './emit/engine-stages.js'
export { ganttHtml } from './emit/gantt-html.js'
export { emitMermaid } from './emit/mermaid.js'
export { emitSglangOmni } from './emit/sglang-omni.js'
export { emitVllmOmni } from './emit/vllm-omni.js'
export { type GateDeclaration, gateSchema } from './gate/declaration.js'
export {
  type JudgeOptions,
  judge as judgePairs,
  type Verdict as GateVerdict,
} from './gate/judge.js'
export type { Metric, PairedRuns, RunSamples } from './gate/metric.js'
export { type PilotReport, sizeFromPilot } from './gate/pilot.js'
export { runOrder } from './gate/run-order.js'
export { type Backend, type BackendSession, inProcessBackend } from './harness/backend.js'
export { EXACT, firstDifference, type Tolerances } from './harness/compare.js'
export { drive, measureRun, type RequestRecord, type ScriptedRequest } from './harness/drive.js'
export { type Fingerprint, fingerprint } from './harness/fingerprint.js'
export { jsonLinesBackend } from './harness/json-lines-backend.js'
export { openAiBackend } from './harness/openai-backend.js'
export { type DeployFile, readDeployFile } from './import/deploy-file.js'
export { type Imported, type ImportOptions, importDeploy } from './import/import-deploy.js'
export { type CheckReport, checkAgainstReference } from './interpreter/check-against-reference.js'
export type {
  Implementations,
  NodeCall,
  NodeFunction,
  NodeResult,
} from './interpreter/implementation.js'
export { interpret, type PipelineRequest } from './interpreter/interpret.js'
export { nodeFunctions } from './interpreter/node-functions.js'
export { nodeProgram } from './interpreter/node-program.js'
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
export { interpretProject } from './loop/interpret-project.js'
export type { Ledger, VariantRecord } from './loop/ledger-state.js'
export { DEFAULT_GATES, type LegalFinding, type LoopProject } from './loop/loop-project.js'
export { type MeasuredLoop, openLoop } from './loop/measured-loop.js'
export { paretoFront } from './loop/rank.js'
export { type ReadLoopProject, readLoopProject } from './loop/read-loop-project.js'
export { REFERENCE, type Variant, type VariantSpec, type VariantState } from './loop/variant.js'
export { serveMcp } from './mcp/serve-mcp.js'
export {
  type AttainedSchedule,
  attainLatency,
  attainPeriod,
  type CyclicSchedule,
} from './schedule/cyclic-schedule.js'
export type { Missing } from './search/missing.js'
export { type Front, type Plan, type PlanOptions, type PlanResult, plan } from './search/plan.js'
export { type PlanRow, paretoChart, planRow, renderPlans } from './search/render-plans.js'
export { type SeededRandom, seededRandom } from './seeded-random.js'
