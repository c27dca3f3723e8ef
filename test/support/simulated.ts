import { calibrate } from '../../src/sim/calibrate/calibrate.js'
import type { Calibration } from '../../src/sim/calibrate/calibration.js'
import type { ModelName } from '../../src/sim/omni/parameters.js'
import { type OmniSpec, type Overrides, omniSpec } from '../../src/sim/omni/spec.js'
import { mixByLongFraction } from '../../src/sim/workload/class-mix.js'
import { generateWorkload } from '../../src/sim/workload/generate.js'
import type { Workload } from '../../src/sim/workload/workload.js'

/** A runtime, a workload of `requests`, and a calibration that is written down instead of measured: quick to make. */
export function smallSimulation(options: {
  readonly model?: ModelName
  readonly overrides?: Overrides
  readonly requests?: number
  readonly rate?: number
  readonly longFraction?: number
  readonly seed?: number
}): { spec: OmniSpec; workload: Workload; calibration: Calibration } {
  const spec = omniSpec('rtx-6000-ada', options.model ?? 'qwen2.5-omni', options.overrides)
  const workload = generateWorkload({
    spec,
    mix: mixByLongFraction(spec.classes, options.longFraction ?? 0.3),
    rate: options.rate ?? 0.45,
    extent: { requests: options.requests ?? 60 },
    seed: options.seed ?? 1,
  })
  return { spec, workload, calibration: writtenCalibration(spec) }
}

/** 100 ms of shared stage for everyone, 20 s downstream on the long path. */
export function writtenCalibration(spec: OmniSpec): Calibration {
  const solo = spec.classes.map((of) => ({
    class: of.name,
    promptTokens: 100,
    audioSeconds: 0,
    images: 0,
    videos: 0,
    sharedMs: 100,
    downstreamMs: of.path === 'long' ? 20_000 : 0,
    downstreamBusyMs: of.path === 'long' ? 20_000 : 0,
    firstResponseMs: of.path === 'long' ? 20_100 : 100,
  }))
  const sweep = [36, 54, 72, 88, 142].map((sms) => ({
    sms,
    decodeTpotMs: sms < 72 ? 42 : 39,
    corunTtftMs: sms > 88 ? 80 : 43,
    corunPressure: 0.7,
  }))
  return calibrate(solo, sweep, { totalSms: spec.totalSms })
}
