/**
 * @module
 * The simulator: discrete events in virtual time, seeded randomness, and the models built on them.
 */

export { type CalibrateOptions, type CalibrateResult, calibrate } from './calibrate/calibrate.js'
export type { CalibratedClass, Calibration } from './calibrate/calibration.js'
export { type CalibratedConfig, calibrationConfig } from './calibrate/calibration-config.js'
export { type ChosenLadder, chooseLadder, type LadderOptions } from './calibrate/choose-ladder.js'
export {
  type CalibrationTarget,
  type Collected,
  type CollectOptions,
  collect,
} from './calibrate/collect.js'
export { simulatedTarget } from './calibrate/simulated-target.js'
export { formatSmSweep, parseSmSweep, type SmSweepRow } from './calibrate/sm-sweep.js'
export { formatSoloRecords, parseSoloRecords, type SoloRecord } from './calibrate/solo-record.js'
export { type ComparePoliciesOptions, comparePolicies } from './compare-policies.js'
export {
  clamped,
  constant,
  type Distribution,
  empirical,
  exponential,
  gamma,
  gammaOf,
  lognormal,
  lognormalOf,
  mixture,
  pareto,
  poisson,
  standardNormal,
  uniform,
  weibull,
  weibullOf,
} from './distributions.js'
export {
  createEventQueue,
  type EventId,
  type EventQueue,
  MAX_RANK,
  type PoppedEvent,
} from './event-queue.js'
export { type Capacity, stageCapacity } from './experiments/capacity.js'
export type { Budget, Exhibit } from './experiments/exhibit.js'
export {
  DEFAULT_BUDGET,
  EXHIBITS,
  exhibits,
  FULL_BUDGET,
  resultsDocument,
} from './experiments/exhibits.js'
export {
  EXPERIMENT_CASES,
  experimentCase,
} from './experiments/experiment-cases.js'
export {
  fitWorld,
  type WorldFit,
} from './experiments/fit-worlds.js'
export { type Identification, identification } from './experiments/identify.js'
export { type Arrivals, type Job, jobKey, type Point, type Row } from './experiments/job.js'
export { createLaboratory, type Laboratory, windowOf } from './experiments/laboratory.js'
export { predictWorld, type WorldPrediction } from './experiments/predict-worlds.js'
export { renderMarkdown } from './experiments/render-markdown.js'
export { renderResultsPage } from './experiments/render-page.js'
export { createResultStore, type ResultStore } from './experiments/result-store.js'
export { resultsOf, runJobs } from './experiments/run-jobs.js'
export { type Estimate, estimate, paired } from './experiments/statistics.js'
export { type Candidate, type Tuned, tune } from './experiments/tune.js'
export { candidatePolicy, scaledCalibration, usualCandidate } from './experiments/tuning.js'
export { type UpperBound, upperBound } from './experiments/upper-bound.js'
export { WORLD_GRID, type WorldOfGrid } from './experiments/world-grid.js'
export {
  type FleetEngine,
  type FleetOptions,
  type FleetRun,
  runFleet,
} from './fleet/fleet.js'
export { capacityAt, type FleetBudget, runFleetStudy } from './fleet/fleet-study.js'
export { PICKER_CASES, type Picker, type PickerCase, pickerCases } from './fleet/picker-case.js'
export { type CoRunning, createCoRunning, type SharingMode } from './omni/co-running.js'
export { type ModalityClass, modalityClass } from './omni/modality-class.js'
export { GPUS, type GpuName, MODELS, type ModelName, type Parameter } from './omni/parameters.js'
export { OUTCOME, type RunRecord } from './omni/run-record.js'
export { type OmniSpec, type Overrides, omniParameters, omniSpec } from './omni/spec.js'
export { percentile } from './percentile.js'
export {
  DEFAULT_POLICIES,
  POLICY_CASES,
  type PolicyCase,
  policyCases,
  RECOMMENDED,
} from './policy-case.js'
export {
  erlangC,
  mg1Wait,
  mmcWait,
  type QueueOptions,
  type QueueResult,
  simulateQueue,
} from './queueing.js'
export { buildReportData, type ReportInput } from './report/build-report-data.js'
export { renderReport } from './report/render-report.js'
export { parseReportData, type ReportData } from './report/report-data.js'
export { classNames as reportClassNames, duration, percent } from './report/tables.js'
export { createRng, type Rng } from './rng.js'
export { createSeriesRecorder, type Series, type SeriesRecorder } from './series.js'
export { type SimulateOptions, type SimulationResult, simulate } from './simulate.js'
export {
  createSimulation,
  type EventHandler,
  type EventKind,
  type RunEnd,
  type Simulation,
} from './simulation.js'
export type { GroupSummary, Percentiles, RunSummary } from './summary.js'
export { parseTrace, type ReadTraceOptions } from './traces/read-trace.js'
export { readTrace } from './traces/read-trace-file.js'
export { firstRequests, type TimeUnit, type Trace } from './traces/trace.js'
export { type EngineSettings, engineSettings } from './vllm/engine-settings.js'
export type { ErrorSummary, MetricError } from './vllm/error-summary.js'
export type { FitRun } from './vllm/fit.js'
export { loadKernelTables } from './vllm/load-tables.js'
export { parseRecordedRun, type RecordedRequest } from './vllm/recorded-run.js'
export { type FidelityResult, type Replay, replayRun } from './vllm/replay.js'
export type { ArrivalProcess } from './workload/arrivals.js'
export { type ClassMix, mixByLongFraction, mixByWeights } from './workload/class-mix.js'
export {
  type GenerateOptions,
  generateWorkload,
  type OverlayOptions,
  overlayTrace,
} from './workload/generate.js'
export { TEXT_LENGTHS, type TextLengths, type TextLengthsName } from './workload/lengths.js'
export { offeredRate, selectRequests, type Workload } from './workload/workload.js'
