/**
 * @module
 * Capacity of each stage, in requests per second of a given mix: what it would serve with all of its slots busy and the whole GPU to
 * itself. Both are optimistic (the stages do share the GPU), so an offered load of 1.3 times the smaller one is overload for certain.
 */
import type { GpuWork } from '../omni/co-running.js'
import { planRequests } from '../omni/request-plan.js'
import type { OmniSpec } from '../omni/spec.js'
import { downstreamWork, type SharedBatch, sharedWork } from '../omni/stage-work.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { generateWorkload } from '../workload/generate.js'

export interface Capacity {
  /** Requests per second of the whole mix. */
  readonly shared: number
  /** Infinite where the mix has no long path. */
  readonly downstream: number
  readonly binding: 'shared' | 'downstream'
  readonly perSecond: number
}

/** Engine time per request: its prefill step, and its share of decode steps that serve all slots at once. */
export function stageCapacity(spec: OmniSpec, longFraction: number): Capacity {
  const mix = mixByLongFraction(spec.classes, longFraction)
  const workload = generateWorkload({ spec, mix, rate: 1, extent: { requests: 4000 }, seed: 0 })
  const plan = planRequests(spec, workload)
  const work: GpuWork = { computeMs: 0, memoryMs: 0 }
  const gpuMs = (): number => Math.max(work.computeMs, work.memoryMs)
  const { slots } = spec.shared
  let sharedMs = 0
  let downstreamMs = 0
  downstreamWork(spec, spec.downstream.slots, work)
  const unitMs = (gpuMs() + spec.downstream.hostMsPerUnit) / spec.downstream.slots
  for (let i = 0; i < workload.size; i++) {
    const tokens = plan.prefillTokens[i] as number
    const decode = (plan.decodeTokens[i] as number) - 1
    const batch: SharedBatch = {
      prefillTokens: tokens,
      attendedPairs: (tokens * tokens) / 2,
      decodeRequests: 0,
      kvTokens: 0,
      encodeTflop: plan.encodeTflop[i] as number,
    }
    sharedWork(spec, batch, work)
    const decodeOnlyMs = spec.shared.hostMs
    // The prompt rides on a step that decodes for the others anyway: only what it adds counts.
    sharedMs += gpuMs()
    sharedWork(
      spec,
      {
        prefillTokens: 0,
        attendedPairs: 0,
        decodeRequests: slots,
        kvTokens: slots * (tokens + decode / 2),
        encodeTflop: 0,
      },
      work,
    )
    sharedMs += (decode * (gpuMs() + decodeOnlyMs)) / slots
    downstreamMs += (plan.units[i] as number) * unitMs
  }
  const shared = (1000 * workload.size) / sharedMs
  const downstream =
    downstreamMs === 0 ? Number.POSITIVE_INFINITY : (1000 * workload.size) / downstreamMs
  return {
    shared,
    downstream,
    binding: shared <= downstream ? 'shared' : 'downstream',
    perSecond: Math.min(shared, downstream),
  }
}
