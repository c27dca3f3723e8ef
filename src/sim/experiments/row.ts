/**
 * @module
 * What is kept of a run. One run answers both questions: what the paper would have counted when arrivals stopped, and what became of
 * everything that arrived once all work was done (nothing that comes later changes what had completed by then).
 */
import type { Calibration } from '../calibrate/calibration.js'
import { percentile } from '../percentile.js'
import type { SimulationResult } from '../simulate.js'
import type { Workload } from '../workload/workload.js'
import type { Row, RowGroup } from './job.js'
import { correlation } from './statistics.js'
import type { UpperBound } from './upper-bound.js'

export function rowOf(workload: Workload, calibration: Calibration, run: SimulationResult): Row {
  const stopMs = workload.arrivalMs[workload.size - 1] ?? 0
  const slo = workload.classes.map(
    (of) => calibration.classes.find(({ name }) => name === of.name)?.sloMs ?? Number.NaN,
  )
  const group = (accept: (classIndex: number) => boolean): RowGroup =>
    groupOf(workload, slo, run, stopMs, accept)
  const classes: Record<string, RowGroup> = {}
  for (const [index, of] of workload.classes.entries()) {
    const found = group((i) => i === index)
    if (found.arrived > 0) classes[of.name] = found
  }
  const column = (name: string): number[] => [
    ...(run.series.columns[run.series.names.indexOf(name)] as Float64Array),
  ]
  const pressure = column('pressure')
  const cap = column('capSms')
  const downstream = column('downstream')
  const corunning = cap.map((value, i) => ((downstream[i] as number) > 0 ? value : Number.NaN))
  const { tpotMs } = run.summary.all
  return {
    all: group(() => true),
    short: group((i) => workload.classes[i]?.path === 'short'),
    long: group((i) => workload.classes[i]?.path === 'long'),
    classes,
    tpotMs: [rounded(tpotMs.p50), rounded(tpotMs.p95)],
    correlation: [rounded(correlation(pressure, cap)), rounded(correlation(pressure, corunning))],
    drain: rounded(run.virtualMs / Math.max(1, stopMs)) ?? 0,
  }
}

function groupOf(
  workload: Workload,
  slo: readonly number[],
  { record, virtualMs }: SimulationResult,
  stopMs: number,
  accept: (classIndex: number) => boolean,
): RowGroup {
  const latencies: number[] = []
  let arrived = 0
  let met = 0
  let completed = 0
  let metCompleted = 0
  let abandoned = 0
  let longestWaitMs = 0
  for (let i = 0; i < workload.size; i++) {
    const classIndex = workload.classIndex[i] as number
    if (!accept(classIndex)) continue
    arrived++
    const arrivalMs = workload.arrivalMs[i] as number
    const sloMs = slo[classIndex] as number
    const latency = (record.firstResponseMs[i] as number) - arrivalMs
    if (latency <= sloMs) met++
    if (!Number.isNaN(latency)) latencies.push(latency)
    if ((record.finishedMs[i] as number) <= stopMs) {
      completed++
      if (latency <= sloMs) metCompleted++
    }
    const admittedMs = record.admittedMs[i] as number
    const wait = (Number.isNaN(admittedMs) ? virtualMs : admittedMs) - arrivalMs
    longestWaitMs = Math.max(longestWaitMs, wait)
    if (wait > sloMs) abandoned++
  }
  const sorted = Float64Array.from(latencies).sort()
  return {
    arrived,
    met,
    overArrived: rounded(met / arrived),
    overCompleted: rounded(metCompleted / completed),
    p50Ms: rounded(percentile(sorted, 0.5)),
    p95Ms: rounded(percentile(sorted, 0.95)),
    p99Ms: rounded(percentile(sorted, 0.99)),
    longestWaitMs: Math.round(longestWaitMs),
    abandoned,
  }
}

/** The bound says how many could be met, and nothing about times. */
export function boundRow(workload: Workload, bound: UpperBound): Row {
  const group = (arrived: number, met: number): RowGroup => ({
    arrived,
    met,
    overArrived: rounded(met / arrived),
    overCompleted: null,
    p50Ms: null,
    p95Ms: null,
    p99Ms: null,
    longestWaitMs: 0,
    abandoned: 0,
  })
  let numLong = 0
  for (const index of workload.classIndex) if (workload.classes[index]?.path === 'long') numLong++
  return {
    all: group(workload.size, bound.short + bound.long),
    short: group(workload.size - numLong, bound.short),
    long: group(numLong, bound.long),
    classes: {},
    tpotMs: [null, null],
    correlation: [null, null],
    drain: 0,
  }
}

function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null
}
