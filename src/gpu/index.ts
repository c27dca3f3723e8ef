/**
 * @module
 * The `./gpu` entry: ladders of Green Contexts, pressure from NVML, actuators, and the checks and measurements around them.
 */

export { createBelievableProbe } from './believable-probe.js'
export { type CudaLibrary, type CudaOptions, initCuda, openCuda } from './cuda.js'
export { countDevices, type GpuDevice, openDevice, readMemory } from './device.js'
export { type DoctorOptions, type DoctorReport, runDoctor } from './doctor.js'
export { type EngineOptions, type EngineProbe, openEngine } from './engine-probe.js'
export { type EngineSweepOptions, sweepEngine } from './engine-sweep.js'
export { createFallbackProbe, type FallbackOptions } from './fallback-probe.js'
export type { Finding, FindingStatus } from './finding.js'
export { createGpmBandwidthProbe, type GpmBandwidthOptions, supportsGpm } from './gpm-bandwidth.js'
export {
  createGpuStages,
  type GpuStage,
  type GpuStages,
  type GpuStagesOptions,
} from './gpu-stages.js'
export { type GpuSweepOptions, type GpuSweepResult, runGpuSweep } from './gpu-sweep.js'
export { assertInForce, createGreenContextActuator } from './green-context-actuator.js'
export {
  createGreenContextLadder,
  type GreenContextLadder,
  type GreenContextLadderOptions,
  type LadderRow,
} from './green-context-ladder.js'
export {
  type DescribedRow,
  type LadderDescription,
  ladderSpec,
  parseLadderDescription,
  type RowMethod,
} from './ladder-description.js'
export { type DroppedLevel, spreadLevels } from './ladder-plan.js'
export type { Side } from './ladder-row.js'
export {
  createMpsActuator,
  createNoActuator,
  type MpsActuator,
  type MpsActuatorOptions,
  mpsPercentage,
} from './mps-actuator.js'
export {
  initNvml,
  type NvmlLibrary,
  type NvmlOptions,
  nvmlDeviceByIndex,
  nvmlDeviceByPciId,
  nvmlDeviceByUuid,
  openNvml,
  readDriverVersion,
  readNvmlMemory,
} from './nvml.js'
export { createNvmlSamplesProbe, type NvmlSamplesOptions } from './nvml-samples.js'
export { createNvmlUtilizationProbe, type NvmlUtilizationOptions } from './nvml-utilization.js'
export {
  createNoPressureSource,
  createPressureSource,
  type GpuPressureSource,
  type PressureProbe,
  type PressureSourceOptions,
} from './pressure-source.js'
export {
  createProcessorActuator,
  type ProcessorActuator,
  type ProcessorActuatorOptions,
} from './processor-actuator.js'
export { type GpuError, isGpuError } from './result.js'
export {
  createStallProbe,
  type StallPressureOptions,
  type StallResource,
} from './stall-pressure.js'
export { createMonotonicClock, type StepClock, sharedStepClock } from './step-clock.js'
export { type SweepOptions, type SweepRow, sweepLadder } from './sweep.js'
export { formatSweepCsv, type SweepRecord } from './sweep-csv.js'
export { renderSweepReport } from './sweep-report.js'
