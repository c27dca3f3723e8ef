/**
 * @module
 * A run in numbers, per class and over all: every request counted once, attainment over completed requests (the paper's) and over all
 * that arrived, first-response latency, time per output token, and how long the unlucky waited.
 */
import type { Calibration } from './calibrate/calibration.js'
import type { RequestPlan } from './omni/request-plan.js'
import { OUTCOME, type RunRecord } from './omni/run-record.js'
import { percentile } from './percentile.js'
import type { Workload } from './workload/workload.js'

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

/** NaN (`null` in JSON) where nothing was there to count. */
export interface GroupSummary {
  readonly arrived: number
  readonly completed: number
  /** Too large for the KV cache: turned away on arrival. */
  readonly refused: number
  /** Still in the system when the run was stopped. */
  readonly unfinished: number
  readonly met: number
  readonly attainmentOverCompleted: number
  /** Refused and unfinished requests count as missed. */
  readonly attainmentOverArrived: number
  /** From arrival; queueing included. */
  readonly firstResponseMs: Percentiles
  /** Time per output token after the first, in the shared stage. */
  readonly tpotMs: Percentiles
  /** Longest time from arrival to admission; to the end of the run for what was never admitted. */
  readonly longestWaitMs: number
}

export interface RunSummary {
  readonly all: GroupSummary
  readonly short: GroupSummary
  readonly long: GroupSummary
  readonly classes: Readonly<Record<string, GroupSummary & { readonly sloMs: number }>>
}

export function summarize(
  workload: Workload,
  plan: RequestPlan,
  record: RunRecord,
  calibration: Calibration,
  endMs: number,
): RunSummary {
  const slo = Float64Array.from(
    workload.classes,
    (of) => calibration.classes.find(({ name }) => name === of.name)?.sloMs ?? Number.NaN,
  )
  const group = (accept: (classIndex: number) => boolean): GroupSummary =>
    summarizeGroup(workload, plan, record, slo, endMs, accept)
  const classes: Record<string, GroupSummary & { sloMs: number }> = {}
  for (const [index, of] of workload.classes.entries()) {
    const summary = group((i) => i === index)
    if (summary.arrived > 0) classes[of.name] = { sloMs: slo[index] as number, ...summary }
  }
  return {
    all: group(() => true),
    short: group((i) => workload.classes[i]?.path === 'short'),
    long: group((i) => workload.classes[i]?.path === 'long'),
    classes,
  }
}

function summarizeGroup(
  workload: Workload,
  plan: RequestPlan,
  record: RunRecord,
  slo: Float64Array,
  endMs: number,
  accept: (classIndex: number) => boolean,
): GroupSummary {
  const latencies: number[] = []
  const tpots: number[] = []
  let arrived = 0
  let completed = 0
  let refused = 0
  let met = 0
  let metCompleted = 0
  let longestWaitMs = 0
  for (let i = 0; i < workload.size; i++) {
    const classIndex = workload.classIndex[i] as number
    if (!accept(classIndex)) continue
    arrived++
    const arrivalMs = workload.arrivalMs[i] as number
    const latency = (record.firstResponseMs[i] as number) - arrivalMs
    const isMet = latency <= (slo[classIndex] as number)
    if (isMet) met++
    if (!Number.isNaN(latency)) latencies.push(latency)
    const outcome = record.outcome[i]
    if (outcome === OUTCOME.refused) refused++
    if (outcome === OUTCOME.completed) {
      completed++
      if (isMet) metCompleted++
    }
    const decoded = (record.decodedMs[i] as number) - (record.firstTokenMs[i] as number)
    const tokens = (plan.decodeTokens[i] as number) - 1
    if (tokens > 0 && !Number.isNaN(decoded)) tpots.push(decoded / tokens)
    if (outcome === OUTCOME.refused) continue
    const admittedMs = record.admittedMs[i] as number
    const wait = (Number.isNaN(admittedMs) ? endMs : admittedMs) - arrivalMs
    if (wait > longestWaitMs) longestWaitMs = wait
  }
  return {
    arrived,
    completed,
    refused,
    unfinished: arrived - completed - refused,
    met,
    attainmentOverCompleted: metCompleted / completed,
    attainmentOverArrived: met / arrived,
    firstResponseMs: percentiles(latencies),
    tpotMs: percentiles(tpots),
    longestWaitMs,
  }
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort()
  return {
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    max: sorted[sorted.length - 1] ?? Number.NaN,
  }
}
