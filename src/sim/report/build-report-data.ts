/**
 * @module
 * From runs to the object that is printed and drawn. Numbers are rounded to six significant digits: more would be noise.
 */
import type { Calibration } from '../calibrate/calibration.js'
import type { OmniSpec } from '../omni/spec.js'
import { percentile } from '../percentile.js'
import type { PolicyCase } from '../policy-case.js'
import type { SimulationResult } from '../simulate.js'
import type { GroupSummary } from '../summary.js'
import { offeredRate, type Workload } from '../workload/workload.js'
import type { ReportData, ReportGroup, ReportPolicy } from './report-data.js'

/** Levels of the latency curves: dense where tails are. */
const LATENCY_LEVELS: readonly number[] = [
  ...Array.from({ length: 19 }, (_, i) => (i + 1) / 20),
  0.96,
  0.97,
  0.98,
  0.99,
  0.995,
  0.999,
  1,
]

export interface ReportInput {
  readonly spec: OmniSpec
  readonly workload: Workload
  readonly seed: number
  readonly calibration: Calibration
  readonly runs: readonly { readonly of: PolicyCase; readonly result: SimulationResult }[]
}

export function buildReportData(input: ReportInput): ReportData {
  const { spec, workload, calibration } = input
  let numLong = 0
  for (const index of workload.classIndex) {
    if (workload.classes[index]?.path === 'long') numLong++
  }
  return {
    kind: 'horizonserve-simulation',
    version: 1,
    simulated: true,
    runtime: {
      gpu: spec.gpu,
      model: spec.model,
      totalSms: spec.totalSms,
      overrides: { ...spec.overrides },
    },
    workload: {
      name: workload.name,
      requests: workload.size,
      skippedLines: workload.skipped,
      offeredPerSecond: rounded(offeredRate(workload.arrivalMs), 3),
      longFraction: workload.size === 0 ? 0 : (rounded(numLong / workload.size) as number),
      seed: input.seed,
      notes: [...workload.notes],
    },
    calibration: {
      classes: calibration.classes.map(({ name, path, soloP95Ms, sloMs, samples }) => ({
        name,
        path,
        soloP95Ms: rounded(soloP95Ms) as number,
        sloMs: rounded(sloMs) as number,
        samples,
      })),
      levels: [...calibration.ladder.levels],
      aggressiveSms: calibration.ladder.aggressiveSms ?? calibration.ladder.totalSms,
      saturation: calibration.saturation,
    },
    latencyLevels: [...LATENCY_LEVELS],
    policies: input.runs.map(({ of, result }) => policyData(of, workload, result)),
  }
}

function policyData(of: PolicyCase, workload: Workload, run: SimulationResult): ReportPolicy {
  const classes: ReportPolicy['classes'] = {}
  for (const [name, summary] of Object.entries(run.summary.classes)) {
    classes[name] = {
      ...groupData(summary),
      sloMs: rounded(summary.sloMs),
      latencyMs: latencyCurve(workload, run, name),
    }
  }
  return {
    name: of.name,
    about: of.about,
    sharing: of.sharing,
    all: groupData(run.summary.all),
    short: groupData(run.summary.short),
    long: groupData(run.summary.long),
    classes,
    steps: run.steps,
    emptySteps: run.emptySteps,
    events: run.events,
    preemptions: run.preemptions,
    virtualMs: rounded(run.virtualMs) as number,
    meanActivity: rounded(run.meanActivity),
    corunningActivity: rounded(run.corunningActivity),
    capChanges: run.metrics.capChanges,
    series: {
      bucketMs: run.series.bucketMs,
      names: [...run.series.names],
      columns: run.series.columns.map((column) => Array.from(column, (value) => rounded(value, 4))),
    },
  }
}

function groupData(summary: GroupSummary): ReportGroup {
  const spread = (of: GroupSummary['tpotMs']): ReportGroup['tpotMs'] => ({
    p50: rounded(of.p50),
    p95: rounded(of.p95),
    p99: rounded(of.p99),
    max: rounded(of.max),
  })
  return {
    arrived: summary.arrived,
    completed: summary.completed,
    refused: summary.refused,
    unfinished: summary.unfinished,
    met: summary.met,
    attainmentOverCompleted: rounded(summary.attainmentOverCompleted),
    attainmentOverArrived: rounded(summary.attainmentOverArrived),
    firstResponseMs: spread(summary.firstResponseMs),
    tpotMs: spread(summary.tpotMs),
    longestWaitMs: rounded(summary.longestWaitMs) as number,
  }
}

function latencyCurve(workload: Workload, run: SimulationResult, name: string): (number | null)[] {
  const latencies: number[] = []
  for (let i = 0; i < workload.size; i++) {
    if (workload.classes[workload.classIndex[i] as number]?.name !== name) continue
    const latency = (run.record.firstResponseMs[i] as number) - (workload.arrivalMs[i] as number)
    if (!Number.isNaN(latency)) latencies.push(latency)
  }
  const sorted = Float64Array.from(latencies).sort()
  return LATENCY_LEVELS.map((level) => rounded(percentile(sorted, level)))
}

/** To significant digits; `null` for what is not a finite number. */
function rounded(value: number, digits = 6): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(digits)) : null
}
