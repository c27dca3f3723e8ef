/**
 * @module
 * Signed errors of a replay against the run it replays, in percent: of the mean and of percentiles, as simulator papers report them, and the
 * mean absolute error over requests, which shows what aggregates hide.
 */
import type { RecordedRequest } from './recorded-run.js'
import type { RequestTable } from './request-table.js'

/** Signed errors of one metric's mean and percentiles, percent of the real value; null without requests. */
export interface MetricError {
  readonly mean: number | null
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly requests: number
  /** The real mean, in milliseconds. */
  readonly realMeanMs: number | null
}

export interface ErrorSummary {
  readonly ttft: MetricError
  readonly tpot: MetricError
  readonly e2e: MetricError
  /** Time to the first token of requests that the real engine scheduled as soon as it saw them. */
  readonly ttftUnqueued: MetricError
  /** Mean over requests of the absolute error of the end-to-end time, percent. */
  readonly mapePerRequest: number | null
}

/** Scheduled within this of being queued is scheduled at once: the same pass of the engine's loop. */
const AT_ONCE_MS = 1

/** Both sides start each request's clock where the engine core takes it from its input queue. */
export function errorSummary(
  run: readonly RecordedRequest[],
  table: RequestTable,
  keep: (request: RecordedRequest) => boolean = () => true,
): ErrorSummary {
  const kept: number[] = []
  for (let i = 0; i < run.length; i++) if (keep(run[i] as RecordedRequest)) kept.push(i)
  const real = (i: number): RecordedRequest => run[i] as RecordedRequest
  const at = (times: Float64Array, i: number): number => times[i] as number
  const unqueued = kept.filter((i) => real(i).scheduledMs - real(i).queuedMs < AT_ONCE_MS)
  const several = kept.filter((i) => real(i).outputTokens > 1)
  const ttft = {
    real: (i: number) => real(i).firstTokenMs - real(i).queuedMs,
    sim: (i: number) => at(table.firstTokenMs, i) - at(table.queuedMs, i),
  }
  const e2e = {
    real: (i: number) => real(i).lastTokenMs - real(i).queuedMs,
    sim: (i: number) => at(table.lastTokenMs, i) - at(table.queuedMs, i),
  }
  const tpot = {
    real: (i: number) => (real(i).lastTokenMs - real(i).firstTokenMs) / (real(i).outputTokens - 1),
    sim: (i: number) =>
      (at(table.lastTokenMs, i) - at(table.firstTokenMs, i)) / (real(i).outputTokens - 1),
  }
  const absolute = kept.map((i) => Math.abs(e2e.sim(i) / e2e.real(i) - 1) * 100)
  return {
    ttft: metricError(kept.map(ttft.real), kept.map(ttft.sim)),
    tpot: metricError(several.map(tpot.real), several.map(tpot.sim)),
    e2e: metricError(kept.map(e2e.real), kept.map(e2e.sim)),
    ttftUnqueued: metricError(unqueued.map(ttft.real), unqueued.map(ttft.sim)),
    mapePerRequest: absolute.length === 0 ? null : mean(absolute),
  }
}

/** Compares two samples of one metric, each by its own percentiles. */
export function metricError(real: readonly number[], sim: readonly number[]): MetricError {
  if (real.length === 0) {
    return {
      mean: null,
      p50: null,
      p90: null,
      p95: null,
      p99: null,
      requests: 0,
      realMeanMs: null,
    }
  }
  const signed = (a: number, b: number): number => (b / a - 1) * 100
  const at = (share: number): number => signed(percentile(real, share), percentile(sim, share))
  return {
    mean: signed(mean(real), mean(sim)),
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    requests: real.length,
    realMeanMs: mean(real),
  }
}

/** Linear between order statistics, as NumPy's default. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  const rank = (sorted.length - 1) * share
  const low = Math.floor(rank)
  const below = sorted[low] as number
  const above = sorted[Math.min(low + 1, sorted.length - 1)] as number
  return below + (above - below) * (rank - low)
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
