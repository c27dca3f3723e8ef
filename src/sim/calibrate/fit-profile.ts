/**
 * @module
 * Stage profiles from solo records: per class, mean times over bins of prompt tokens. A profile never falls as its input grows (a
 * longer prompt is not faster; where the data say so by chance, neighbours are pooled). What the record cannot know at arrival, the
 * length of the answer, is in the mean.
 */
import type { StageProfile } from '../../policies/index.js'
import type { SoloRecord } from './solo-record.js'

/** Points per curve. */
const MAX_BINS = 8

type Point = readonly [input: number, ms: number]

/** All records must be of one class. */
export function fitProfile(records: readonly SoloRecord[]): StageProfile {
  const sharedCurve = fitCurve(records.map((of) => [of.promptTokens, of.sharedMs]))
  const shared =
    sharedCurve.length < 2
      ? { fixedMs: mean(records.map((of) => of.sharedMs)) }
      : { promptTokens: sharedCurve }
  const downstreamMs = mean(records.map((of) => of.downstreamMs))
  if (downstreamMs === 0) return { shared }
  return {
    shared,
    downstream: { fixedMs: downstreamMs },
    downstreamBusy: { fixedMs: mean(records.map((of) => of.downstreamBusyMs)) },
  }
}

/** Means over bins with equally many records, pooled until they rise (pool adjacent violators). */
export function fitCurve(data: readonly Point[]): Point[] {
  const sorted = [...data].sort((a, b) => a[0] - b[0])
  const bins = Math.max(1, Math.min(MAX_BINS, Math.floor(sorted.length / 8)))
  const pools: { input: number; ms: number; weight: number }[] = []
  for (let b = 0; b < bins; b++) {
    const from = Math.floor((b * sorted.length) / bins)
    const part = sorted.slice(from, Math.floor(((b + 1) * sorted.length) / bins))
    pools.push({
      input: mean(part.map(([input]) => input)),
      ms: mean(part.map(([, ms]) => ms)),
      weight: part.length,
    })
    for (;;) {
      const last = pools[pools.length - 1]
      const before = pools[pools.length - 2]
      if (last === undefined || before === undefined) break
      if (before.ms <= last.ms && before.input < last.input) break
      const weight = before.weight + last.weight
      const pooled = (a: number, z: number): number =>
        (a * before.weight + z * last.weight) / weight
      pools.splice(-2, 2, {
        input: pooled(before.input, last.input),
        ms: pooled(before.ms, last.ms),
        weight,
      })
    }
  }
  return pools.map(({ input, ms }) => [round(input), round(ms)] as const)
}

function mean(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value
  return values.length === 0 ? 0 : round(sum / values.length)
}

/** To the microsecond: files stay readable. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
