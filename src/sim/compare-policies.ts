/**
 * @module
 * The shortest way from a policy to a comparison: one synthetic workload, calibrated on the simulated runtime, under each policy.
 */
import type { Policy } from '../core/index.js'
import { calibrate } from './calibrate/calibrate.js'
import { collect } from './calibrate/collect.js'
import { simulatedTarget } from './calibrate/simulated-target.js'
import type { GpuName, ModelName } from './omni/parameters.js'
import { omniSpec } from './omni/spec.js'
import { type PolicyCase, policyCases } from './policy-case.js'
import { type SimulationResult, simulate } from './simulate.js'
import { mixByLongFraction } from './workload/class-mix.js'
import { generateWorkload } from './workload/generate.js'

export interface ComparePoliciesOptions {
  /** Poisson arrivals, requests per second. */
  readonly rate: number
  /** Share of long-path requests, in [0, 1]. */
  readonly longFraction: number
  readonly requests: number
  /** @default 1 */
  readonly seed?: number
  /** @default 'rtx-6000-ada' */
  readonly gpu?: GpuName
  /** @default 'qwen2.5-omni' */
  readonly model?: ModelName
}

/**
 * Runs every policy on the same requests. A policy is the name of a case (`POLICY_CASES`) or a `Policy`, which shares the GPU by Green
 * Contexts. Simulated: parameters and their sources are in `omni/parameters.ts`.
 */
export function comparePolicies(
  policies: readonly (string | Policy)[],
  options: ComparePoliciesOptions,
): SimulationResult[] {
  const runtime = omniSpec(options.gpu ?? 'rtx-6000-ada', options.model ?? 'qwen2.5-omni')
  const workload = generateWorkload({
    spec: runtime,
    mix: mixByLongFraction(runtime.classes, options.longFraction),
    rate: options.rate,
    extent: { requests: options.requests },
    seed: options.seed ?? 1,
  })
  const { solo, sweep } = collect(simulatedTarget(runtime, workload))
  const calibration = calibrate(solo, sweep, { totalSms: runtime.totalSms })
  return policies.map((policy) =>
    simulate({ runtime, workload, policy: policyCase(policy), calibration }),
  )
}

function policyCase(policy: string | Policy): PolicyCase {
  if (typeof policy === 'string') return policyCases([policy])[0]!
  return { name: policy.name, about: 'given', sharing: 'green-contexts', policy: () => policy }
}
