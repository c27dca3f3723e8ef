/**
 * @module
 * An offline upper bound: no policy of this engine, knowing every arrival and length beforehand, lets more requests meet their SLO.
 * It relaxes the problem, so it need not be reachable: stages never slow each other, a step costs what it costs for one request alone
 * on the whole GPU, and whoever is not counted costs nothing.
 *
 * Short path: an engine does not take a slot away by choice, so a request that is on time holds one at least from the latest start that
 * is on time to its earliest end. Among such intervals, at most `slots` at a time, the most that can be kept is found greedily
 * (Faigle and Nawijn, 1995; Carlisle and Lloyd, 1995). Long path: at most what the downstream slots can do between the first arrival and
 * the last deadline, smallest requests first.
 */
import type { Calibration } from '../calibrate/calibration.js'
import type { GpuWork } from '../omni/co-running.js'
import { planRequests, type RequestPlan } from '../omni/request-plan.js'
import type { OmniSpec } from '../omni/spec.js'
import { downstreamWork, sharedWork } from '../omni/stage-work.js'
import type { Workload } from '../workload/workload.js'

/** Most requests of each path that can meet their SLO. */
export interface UpperBound {
  readonly short: number
  readonly long: number
}

/** `engines`: as many of them, each request on whichever is best. */
export function upperBound(
  spec: OmniSpec,
  workload: Workload,
  calibration: Calibration,
  engines = 1,
): UpperBound {
  const plan = planRequests(spec, workload)
  const slo = workload.classes.map(
    (of) => calibration.classes.find(({ name }) => name === of.name)?.sloMs ?? 0,
  )
  return {
    short: boundShort(spec, workload, plan, slo, engines),
    long: boundLong(spec, workload, plan, slo, engines),
  }
}

function boundShort(
  spec: OmniSpec,
  workload: Workload,
  plan: RequestPlan,
  slo: readonly number[],
  engines: number,
): number {
  const work: GpuWork = { computeMs: 0, memoryMs: 0 }
  const stepMs = (prefillTokens: number, kvTokens: number, encodeTflop: number): number => {
    sharedWork(
      spec,
      {
        prefillTokens,
        attendedPairs: 0,
        decodeRequests: kvTokens > 0 ? 1 : 0,
        kvTokens,
        encodeTflop,
      },
      work,
    )
    return Math.max(work.computeMs, work.memoryMs) + spec.shared.hostMs
  }
  const intervals: { from: number; to: number }[] = []
  let free = 0
  for (let i = 0; i < workload.size; i++) {
    const classIndex = workload.classIndex[i] as number
    if (workload.classes[classIndex]?.path !== 'short') continue
    const arrivalMs = workload.arrivalMs[i] as number
    const tokens = plan.prefillTokens[i] as number
    const prefillMs = stepMs(tokens, 0, plan.encodeTflop[i] as number)
    const latest = arrivalMs + (slo[classIndex] as number) - prefillMs
    // Alone, it would already be late: nothing can help it.
    if (latest < arrivalMs) continue
    const decodeMs = ((plan.decodeTokens[i] as number) - 1) * stepMs(0, tokens, 0)
    const earliestEnd = arrivalMs + prefillMs + decodeMs
    if (earliestEnd <= latest) free++
    else intervals.push({ from: latest, to: earliestEnd })
  }
  return free + mostIntervals(intervals, spec.shared.slots * engines)
}

/** Most intervals of which no more than `k` overlap: of k + 1 that do, the one that ends last goes. */
export function mostIntervals(intervals: { from: number; to: number }[], k: number): number {
  const sorted = [...intervals].sort((a, b) => a.from - b.from)
  let running: number[] = []
  let kept = 0
  for (const { from, to } of sorted) {
    running = running.filter((end) => end > from)
    running.push(to)
    kept++
    if (running.length <= k) continue
    running.splice(running.indexOf(Math.max(...running)), 1)
    kept--
  }
  return kept
}

function boundLong(
  spec: OmniSpec,
  workload: Workload,
  plan: RequestPlan,
  slo: readonly number[],
  engines: number,
): number {
  const work: GpuWork = { computeMs: 0, memoryMs: 0 }
  const { slots } = spec.downstream
  // Per request and unit, a full batch is the cheapest way to run.
  downstreamWork(spec, slots, work)
  const unitMs = (Math.max(work.computeMs, work.memoryMs) + spec.downstream.hostMsPerUnit) / slots
  const costs: number[] = []
  let lastDeadlineMs = 0
  for (let i = 0; i < workload.size; i++) {
    const classIndex = workload.classIndex[i] as number
    if (workload.classes[classIndex]?.path !== 'long') continue
    costs.push((plan.firstResponseUnits[i] as number) * unitMs)
    lastDeadlineMs = Math.max(
      lastDeadlineMs,
      (workload.arrivalMs[i] as number) + (slo[classIndex] as number),
    )
  }
  let left = engines * (lastDeadlineMs - (workload.arrivalMs[0] ?? 0))
  let kept = 0
  for (const cost of costs.sort((a, b) => a - b)) {
    left -= cost
    if (left < 0) break
    kept++
  }
  return kept
}
