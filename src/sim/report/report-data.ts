/**
 * @module
 * The one JSON object that `simulate --json` prints and `report` draws: what was run, and per policy what came out. NaN is `null`.
 * It carries no wall-clock time, so that the same seed gives the same bytes.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/index.js'

const number = z.number().nullable()
const percentiles = z.object({ p50: number, p95: number, p99: number, max: number })
const group = z.object({
  arrived: z.number(),
  completed: z.number(),
  refused: z.number(),
  unfinished: z.number(),
  met: z.number(),
  attainmentOverCompleted: number,
  attainmentOverArrived: number,
  firstResponseMs: percentiles,
  tpotMs: percentiles,
  longestWaitMs: z.number(),
})
const classGroup = group.extend({
  sloMs: number,
  /** First-response latency in ms at the levels of `latencyLevels`. */
  latencyMs: z.array(number),
})
const policyRun = z.object({
  name: z.string(),
  about: z.string(),
  sharing: z.enum(['time-sliced', 'mps', 'green-contexts']),
  all: group,
  short: group,
  long: group,
  classes: z.record(z.string(), classGroup),
  steps: z.number(),
  emptySteps: z.number(),
  events: z.number(),
  preemptions: z.number(),
  virtualMs: z.number(),
  meanActivity: number,
  corunningActivity: number,
  capChanges: z.number(),
  series: z.object({
    bucketMs: z.number().positive(),
    names: z.array(z.string()),
    columns: z.array(z.array(number)),
  }),
})
const schema = z.object({
  kind: z.literal('horizonserve-simulation'),
  version: z.literal(1),
  simulated: z.literal(true),
  runtime: z.object({
    gpu: z.string(),
    model: z.string(),
    totalSms: z.number(),
    overrides: z.record(z.string(), z.number()),
  }),
  workload: z.object({
    name: z.string(),
    requests: z.number(),
    skippedLines: z.number(),
    offeredPerSecond: number,
    longFraction: z.number(),
    seed: z.number(),
    notes: z.array(z.string()),
  }),
  calibration: z.object({
    classes: z.array(
      z.object({
        name: z.string(),
        path: z.enum(['short', 'long']),
        soloP95Ms: z.number(),
        sloMs: z.number(),
        samples: z.number(),
      }),
    ),
    levels: z.array(z.number()),
    aggressiveSms: z.number(),
    saturation: z.number(),
  }),
  latencyLevels: z.array(z.number()),
  policies: z.array(policyRun).min(1),
})

export type ReportData = z.infer<typeof schema>
export type ReportPolicy = ReportData['policies'][number]
export type ReportGroup = z.infer<typeof group>

/** Checks a parsed JSON value; `name` stands in the message. Throws `ERR_SIM_REPORT_DATA` naming the first wrong field. */
export function parseReportData(value: unknown, name: string): ReportData {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new HorizonError('ERR_SIM_REPORT_DATA', issue?.message ?? 'not a simulation result', {
    field: [name, ...(issue?.path ?? [])].join('.'),
    hint: 'Make one with: horizonserve simulate --json',
  })
}
