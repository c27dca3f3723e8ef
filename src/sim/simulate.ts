/**
 * @module
 * One run: a workload on a simulated runtime under one policy. Same arguments, same result, to the byte.
 */
import type { Metrics } from '../core/index.js'
import type { Calibration } from './calibrate/calibration.js'
import { horizonScheduler } from './omni/horizon-scheduler.js'
import { planRequests } from './omni/request-plan.js'
import { type RuntimeRun, runOmni } from './omni/runtime.js'
import type { OmniSpec } from './omni/spec.js'
import type { PolicyCase } from './policy-case.js'
import { type RunSummary, summarize } from './summary.js'
import type { Workload } from './workload/workload.js'

export interface SimulateOptions {
  /** The GPU and the model: `omniSpec('rtx-6000-ada', 'qwen2.5-omni')`. */
  readonly runtime: OmniSpec
  readonly workload: Workload
  readonly policy: PolicyCase
  readonly calibration: Calibration
  /** Stop at this virtual time; what has not ended counts as unfinished, hence missed. @default until all work is done */
  readonly untilMs?: number
  readonly onProgress?: (ended: number) => void
}

export interface SimulationResult extends RuntimeRun {
  readonly policy: string
  readonly sharing: PolicyCase['sharing']
  readonly summary: RunSummary
  /** The scheduler's own account of the same run. */
  readonly metrics: Metrics
}

export function simulate(options: SimulateOptions): SimulationResult {
  const { runtime: spec, workload, policy, calibration } = options
  const plan = planRequests(spec, workload)
  const scheduler = horizonScheduler(
    spec,
    workload,
    policy.policy(calibration, spec),
    calibration,
    plan.prefillTokens,
  )
  const run = runOmni({
    spec,
    sharing: policy.sharing,
    workload,
    plan,
    scheduler,
    ...(options.untilMs === undefined ? {} : { untilMs: options.untilMs }),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  })
  return {
    ...run,
    policy: policy.name,
    sharing: policy.sharing,
    summary: summarize(workload, plan, run.record, calibration, run.virtualMs),
    metrics: scheduler.horizon.metrics(),
  }
}
