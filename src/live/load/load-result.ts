/**
 * @module
 * A run in numbers: the one JSON object that `load --json` prints and `report` draws. Every scheduled request is counted once, and
 * attainment is over all of them. A run whose generator was late says so and is not valid.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/index.js'
import { percentile } from '../../sim/index.js'
import { type LoadClass, loadClassSchema } from '../load-class.js'
import type { LoadRecord, Outcome } from './load-record.js'
import type { LoadRun } from './run-load.js'
import type { LoadSchedule } from './schedule.js'

const number = z.number().nullable()
const spread = z.object({ p50: number, p95: number, p99: number, max: number })
const counts = {
  scheduled: z.number(),
  met: z.number(),
  missed: z.number(),
  failed: z.number(),
  rejected: z.number(),
  undetermined: z.number(),
  attainmentOverScheduled: number,
}
const classResult = z.object({
  ...counts,
  metric: z.string(),
  sloMs: z.number(),
  /** By the class's metric, from the scheduled instant, over the requests that had one. */
  firstResponseMs: spread,
  firstByteMs: spread,
  endToEndMs: spread,
  tpotMs: spread,
  realTimeFactor: spread,
  underrunMs: spread,
  /** Players that would have stood still for more than 100 ms. */
  underruns: z.number(),
  /** Longest time from the scheduled instant to the first response, or without one. */
  longestWaitMs: number,
  /** First response at the levels of `latencyLevels`. */
  latencyMs: z.array(number),
  /** Per bucket of `timeline`: scheduled and met, and p95 of the first response. */
  timeline: z.object({
    scheduled: z.array(z.number()),
    met: z.array(z.number()),
    p95Ms: z.array(number),
  }),
})
export const loadResultSchema = z.object({
  kind: z.literal('horizonserve-load'),
  version: z.literal(1),
  /** Whether the numbers may be used. */
  valid: z.boolean(),
  invalidBecause: z.array(z.string()),
  interrupted: z.boolean(),
  ...counts,
  /** Requests of the schedule that an interrupted run never reached. */
  notReached: z.number(),
  sendLagMs: spread,
  /** Wait for a place under a cap; part of every latency. */
  queueMs: spread,
  url: z.string(),
  label: z.string(),
  arrivals: z.string(),
  seed: z.number(),
  seconds: z.number(),
  offeredPerSecond: number,
  audioSeconds: z.number(),
  errors: z.array(z.object({ message: z.string(), count: z.number() })),
  latencyLevels: z.array(z.number()),
  timeline: z.object({ bucketMs: z.number() }),
  requested: z.array(loadClassSchema),
  classes: z.record(z.string(), classResult),
})
export type LoadResult = z.output<typeof loadResultSchema>

/** Of the tightest SLO; and lag below the floor harms no run. */
const MOST_LAG = 0.05
const LAG_FLOOR_MS = 5
/** As vLLM-Omni counts it: a stream is continuous when its player never stands still for longer. */
const UNDERRUN_MS = 100
const BUCKETS = 60
const LEVELS = [
  ...Array.from({ length: 19 }, (_, i) => (i + 1) / 20),
  0.96,
  0.97,
  0.98,
  0.99,
  0.995,
  0.999,
  1,
]

export interface SummaryInput {
  readonly run: LoadRun
  readonly schedule: LoadSchedule
  readonly classes: readonly LoadClass[]
  readonly url: string
  readonly label?: string
  readonly seed: number
}

export function summarizeLoad(input: SummaryInput): LoadResult {
  const { run, schedule, classes } = input
  const { records } = run
  const lag = spreadOf(records.map((of) => of.sendLagMs))
  const tightest = Math.min(...classes.filter((of) => of.weight > 0).map((of) => of.slo.ms))
  const mostLag = Math.max(LAG_FLOOR_MS, MOST_LAG * tightest)
  const invalidBecause: string[] = []
  if ((lag.p99 ?? 0) > mostLag) {
    invalidBecause.push(
      `the generator was late: send lag p99 ${lag.p99} ms, at most ${mostLag} ms may be (5 % of the tightest SLO, at least ${LAG_FLOOR_MS})`,
    )
  }
  if (records.length === 0) invalidBecause.push('nothing was sent')
  const lengthMs = Math.max(1, schedule.atMs[schedule.size - 1] ?? 0)
  const bucketMs = lengthMs / BUCKETS
  const messages = new Map<string, number>()
  for (const { error } of records) {
    if (error !== undefined) messages.set(error, (messages.get(error) ?? 0) + 1)
  }
  return {
    kind: 'horizonserve-load',
    version: 1,
    valid: invalidBecause.length === 0,
    invalidBecause,
    interrupted: run.interrupted,
    ...countsOf(records),
    notReached: schedule.size - records.length,
    sendLagMs: lag,
    queueMs: spreadOf(records.map((of) => of.queueMs)),
    url: input.url,
    label: input.label ?? input.url,
    arrivals: schedule.arrivals,
    seed: input.seed,
    seconds: rounded(run.seconds) as number,
    offeredPerSecond: rounded((schedule.size * 1000) / lengthMs),
    audioSeconds: rounded(records.reduce((sum, of) => sum + of.audioSeconds, 0)) as number,
    errors: [...messages]
      .map(([message, count]) => ({ message, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, 20),
    latencyLevels: LEVELS,
    timeline: { bucketMs: rounded(bucketMs) as number },
    requested: [...classes],
    classes: Object.fromEntries(
      classes.map((of) => [
        of.name,
        classOf(
          of,
          records.filter((record) => record.class === of.name),
          bucketMs,
        ),
      ]),
    ),
  }
}

function classOf(
  of: LoadClass,
  records: readonly LoadRecord[],
  bucketMs: number,
): LoadResult['classes'][string] {
  const column = (pick: (record: LoadRecord) => number | null): number[] =>
    records.map(pick).filter((value) => value !== null)
  const first = column((record) => record.firstResponseMs)
  const sorted = Float64Array.from(first).sort()
  const buckets = Array.from({ length: BUCKETS }, (_, i) =>
    records.filter(
      (record) => Math.min(BUCKETS - 1, Math.floor(record.scheduledMs / bucketMs)) === i,
    ),
  )
  const underruns = column((record) => record.underrunMs)
  return {
    ...countsOf(records),
    metric: of.slo.metric,
    sloMs: of.slo.ms,
    firstResponseMs: spreadOf(first),
    firstByteMs: spreadOf(column((record) => record.firstByteMs)),
    endToEndMs: spreadOf(column((record) => record.endMs)),
    tpotMs: spreadOf(column((record) => record.tpotMs)),
    realTimeFactor: spreadOf(column((record) => record.realTimeFactor)),
    underrunMs: spreadOf(underruns),
    underruns: underruns.filter((ms) => ms > UNDERRUN_MS).length,
    longestWaitMs: rounded(
      records.reduce((most, record) => Math.max(most, waited(record)), Number.NEGATIVE_INFINITY),
    ),
    latencyMs: LEVELS.map((level) => rounded(percentile(sorted, level))),
    timeline: {
      scheduled: buckets.map((bucket) => bucket.length),
      met: buckets.map((bucket) => bucket.filter((record) => record.outcome === 'met').length),
      p95Ms: buckets.map((bucket) => spreadOf(bucket.flatMap((r) => r.firstResponseMs ?? [])).p95),
    },
  }
}

/** A request without a first response waited for as long as it was followed. */
function waited(record: LoadRecord): number {
  return record.firstResponseMs ?? record.endMs ?? record.queueMs
}

function countsOf(records: readonly LoadRecord[]) {
  const of = (outcome: Outcome): number =>
    records.reduce((sum, record) => sum + (record.outcome === outcome ? 1 : 0), 0)
  const met = of('met')
  return {
    scheduled: records.length,
    met,
    missed: of('missed'),
    failed: of('failed'),
    rejected: of('rejected'),
    undetermined: of('undetermined'),
    attainmentOverScheduled: rounded(met / records.length),
  }
}

function spreadOf(values: readonly number[]): z.output<typeof spread> {
  const sorted = Float64Array.from(values).sort()
  return {
    p50: rounded(percentile(sorted, 0.5)),
    p95: rounded(percentile(sorted, 0.95)),
    p99: rounded(percentile(sorted, 0.99)),
    max: rounded(sorted[sorted.length - 1] ?? Number.NaN),
  }
}

/** To six significant digits; `null` for what is not a finite number. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(6)) : null
}

/** Checks a parsed JSON value; `name` stands in the message. Throws `ERR_LIVE_RESULT` naming the first wrong field. */
export function parseLoadResult(value: unknown, name: string): LoadResult {
  const result = loadResultSchema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new HorizonError('ERR_LIVE_RESULT', issue?.message ?? 'not the result of a load run', {
    field: [name, ...(issue?.path ?? [])].join('.'),
    hint: 'Make one with: horizonserve load URL --json',
  })
}
