/**
 * @module
 * What a run is to the gate: samples by name, and the metrics one may judge them by. A run is the unit everything is
 * paired, randomised and resampled by; the requests inside one run share its noise and are never treated as independent.
 */
import { HorizonError } from '../../core/errors.js'

/** Samples of one run of one backend. Times in milliseconds, rates per second; every array non-empty where it is judged. */
export interface RunSamples {
  /** Request sent to first output, one per request. */
  readonly firstOutputMs: readonly number[]
  /** Between consecutive outputs of one request. */
  readonly gapMs: readonly number[]
  /** Outputs over the time from request sent to last output, one per request. */
  readonly ratePerSec: readonly number[]
  /** Time taken over media time made, of the whole run; absent where no media time was declared. Reported, never judged. */
  readonly realTimeFactor?: number | undefined
}

/** Samples that a metric may be made of. */
export type SampleName = 'firstOutputMs' | 'gapMs' | 'ratePerSec'

/** One pair: a run of the baseline and a run of the candidate, next to each other in time, in random order. */
export interface PairedRuns {
  readonly baseline: RunSamples
  readonly candidate: RunSamples
}

/**
 * What is compared. `median`, `run-p95` and `run-p99` are one number per run, and the effect is that of the typical run: much
 * power, blind to a bad run in twenty. `p95` and `p99` are quantiles over the requests of all runs of a side, what users see:
 * a bad run counts as what it is, and where few bad runs carry the tail, many pairs are needed before anything is shown.
 */
export type Statistic = 'median' | 'run-p95' | 'run-p99' | 'p95' | 'p99'

export interface Metric {
  readonly sample: SampleName
  readonly statistic: Statistic
}

/** Which way is better, by sample. */
const HIGHER_IS_BETTER: Readonly<Record<SampleName, boolean>> = Object.freeze({
  firstOutputMs: false,
  gapMs: false,
  ratePerSec: true,
})

/** The metric's name in reports and journals, for example `firstOutputMs.p99`. */
export function metricName(metric: Metric): string {
  return `${metric.sample}.${metric.statistic}`
}

/** The bad tail of a rate is its low end, of a time its high end; returns samples for which smaller is better. */
export function costSamples(run: RunSamples, metric: Metric): Float64Array {
  const raw = run[metric.sample]
  if (raw.length === 0) {
    throw new HorizonError('ERR_DEPLOY_GATE_EMPTY_RUN', 'a run has no sample of this metric', {
      field: metricName(metric),
      expected: 'at least one sample per run',
      got: 0,
      hint: 'Drive at least one request per run, and two outputs per request where gaps are judged',
    })
  }
  const inverted = HIGHER_IS_BETTER[metric.sample]
  const costs = new Float64Array(raw.length)
  for (let i = 0; i < raw.length; i++) {
    const value = raw[i]!
    if (!(value >= 0) || !Number.isFinite(value)) {
      throw new HorizonError('ERR_DEPLOY_GATE_BAD_SAMPLE', 'a sample is no finite time or rate', {
        field: metricName(metric),
        expected: 'a finite number >= 0',
        got: value,
      })
    }
    const floored = Math.max(value, RESOLUTION)
    costs[i] = inverted ? 1 / floored : floored
  }
  return costs
}

/** Samples under a microsecond (or a millionth per second) are all one to the clock; the logarithm needs a floor. */
const RESOLUTION = 1e-3

/** Probability of the quantile a statistic stands for. */
export const PROBABILITY: Readonly<Record<Statistic, number>> = Object.freeze({
  median: 0.5,
  'run-p95': 0.95,
  'run-p99': 0.99,
  p95: 0.95,
  p99: 0.99,
})

/** True for the statistics that pool the requests of all runs. */
export function isPooled(statistic: Statistic): statistic is 'p95' | 'p99' {
  return statistic === 'p95' || statistic === 'p99'
}

/** Fewest samples of a quantile: under `1 / (1 - p)` it is the maximum, and comparing maxima is not comparing tails. */
export function samplesNeeded(statistic: Statistic): number {
  return statistic === 'median' ? 1 : Math.ceil(1 / (1 - PROBABILITY[statistic]) - 1e-9)
}

/** Nearest-rank quantile; the median of an even count is the mean of the middle two. */
export function quantile(values: ArrayLike<number>, probability: number): number {
  const sorted = Float64Array.from(values).sort()
  const half = sorted.length >> 1
  if (probability === 0.5 && sorted.length % 2 === 0) return (sorted[half - 1]! + sorted[half]!) / 2
  return sorted[Math.max(0, Math.ceil(probability * sorted.length - 1e-9) - 1)]!
}
