import { expect, test } from 'vitest'
import { calibrate } from '../../../src/sim/calibrate/calibrate.js'
import { chooseLadder } from '../../../src/sim/calibrate/choose-ladder.js'
import { collect } from '../../../src/sim/calibrate/collect.js'
import { fitCurve } from '../../../src/sim/calibrate/fit-profile.js'
import { simulatedTarget } from '../../../src/sim/calibrate/simulated-target.js'
import { formatSmSweep, parseSmSweep } from '../../../src/sim/calibrate/sm-sweep.js'
import { formatSoloRecords, parseSoloRecords } from '../../../src/sim/calibrate/solo-record.js'
import { MODELS, type ModelName } from '../../../src/sim/omni/parameters.js'
import { omniSpec } from '../../../src/sim/omni/spec.js'
import { percentile } from '../../../src/sim/percentile.js'
import { mixByLongFraction } from '../../../src/sim/workload/class-mix.js'
import { generateWorkload } from '../../../src/sim/workload/generate.js'

/** Figure 4b of the paper, with a low row added so that there is something below Scap. */
const FIGURE_4 = [
  { sms: 40, decodeTpotMs: 5.6, corunTtftMs: 52, corunPressure: 0.85 },
  { sms: 64, decodeTpotMs: 4.8, corunTtftMs: 46, corunPressure: 0.9 },
  { sms: 80, decodeTpotMs: 4.65, corunTtftMs: 43.3, corunPressure: 0.93 },
  { sms: 120, decodeTpotMs: 5.57, corunTtftMs: 94.2, corunPressure: 0.97 },
]

test('Scap is the smallest near-best SM count without the degradation of full allocation', () => {
  const chosen = chooseLadder(FIGURE_4, 120)
  expect(chosen.ladder).toEqual({ totalSms: 120, levels: [40, 64], aggressiveSms: 120 })
  expect(chosen.saturation).toBe(0.9)
  // A stricter reading of "near-best" moves Scap up to the best row.
  expect(chooseLadder(FIGURE_4, 120, { nearBest: 0.02 }).ladder.levels.at(-1)).toBe(80)
})

test('a sweep without a row that is good in both says so and takes the better TTFT', () => {
  const rows = FIGURE_4.map((row) => ({
    ...row,
    corunTtftMs: row.sms === 40 ? 20 : row.corunTtftMs,
  }))
  const chosen = chooseLadder(rows, 120)
  expect(chosen.ladder.levels.at(-1)).toBe(80)
  expect(chosen.reason).toContain('no row is near-best in both')
  expect(() => chooseLadder(FIGURE_4, 40)).toThrow('no row below the whole GPU')
})

test('SLO is the multiplier times solo p95, by class', () => {
  const solo = Array.from({ length: 100 }, (_, i) => ({
    class: i % 2 === 0 ? 't2t' : 't2a',
    promptTokens: 10 + i,
    audioSeconds: 0,
    images: 0,
    videos: 0,
    sharedMs: i + 1,
    downstreamMs: i % 2 === 0 ? 0 : 1000,
    downstreamBusyMs: i % 2 === 0 ? 0 : 2000,
    firstResponseMs: i + 1 + (i % 2 === 0 ? 0 : 1000),
  }))
  const { classes } = calibrate(solo, FIGURE_4, { totalSms: 120, multipliers: { t2a: 3 } })
  const [text, speech] = classes
  expect(text?.soloP95Ms).toBe(95)
  expect(text?.sloMs).toBe(475)
  expect(speech?.sloMs).toBe((speech?.soloP95Ms ?? 0) * 3)
  expect(speech?.profile.downstreamBusy?.fixedMs).toBe(2000)
  expect(() => calibrate(solo, FIGURE_4, { totalSms: 120, multiplier: 0 })).toThrow('multiplier')
})

test('a fitted curve rises in both directions, whatever the data', () => {
  const data = Array.from({ length: 200 }, (_, i) => [i % 13, ((i * 7919) % 101) + i / 10] as const)
  const curve = fitCurve(data)
  for (let i = 1; i < curve.length; i++) {
    expect(curve[i]?.[0]).toBeGreaterThan(curve[i - 1]?.[0] ?? 0)
    expect(curve[i]?.[1]).toBeGreaterThanOrEqual(curve[i - 1]?.[1] ?? 0)
  }
})

test('solo records and sweeps survive being written and read', () => {
  expect(parseSmSweep(formatSmSweep(FIGURE_4), 's.csv')).toEqual(FIGURE_4)
  const [record] = parseSoloRecords('{"class":"t2t","sharedMs":3,"firstResponseMs":3}\n', 's')
  expect(record).toEqual({
    class: 't2t',
    promptTokens: 0,
    audioSeconds: 0,
    images: 0,
    videos: 0,
    sharedMs: 3,
    downstreamMs: 0,
    downstreamBusyMs: 0,
    firstResponseMs: 3,
  })
  if (record === undefined) throw new Error('no record')
  expect(parseSoloRecords(formatSoloRecords([record]), 's')).toEqual([record])
})

test.each([
  [() => parseSoloRecords('{"class":"t2t","sharedMs":1,"firstResponseMs":1}\nx', 's'), 's, line 2'],
  [() => parseSoloRecords('{"class":"t2t","sharedMs":-1,"firstResponseMs":1}', 's'), 'sharedMs'],
  [() => parseSoloRecords('{"class":"","sharedMs":1,"firstResponseMs":1}', 's'), 'class'],
  [() => parseSoloRecords('', 's'), 'no solo latencies'],
  [() => parseSmSweep('a,b\n1,2', 's'), 'not an SM sweep'],
  [() => parseSmSweep(`${formatSmSweep(FIGURE_4)}8,-1,1,0.5\n`, 's'), 's, line 6'],
  [() => parseSmSweep(`${formatSmSweep(FIGURE_4)}8,1,1,1.5\n`, 's'), 'corun_pressure'],
])('a broken calibration file is named (%#)', (read, text) => {
  expect(read).toThrow(text)
})

/** Figure 2: solo p95 of the long path over the short path. It is an input of the model, so the model must have it. */
test.each([
  ['qwen2.5-omni', 416],
  ['mimo-audio', 348],
  ['bagel', 15],
] as [ModelName, number][])(
  'the simulated %s alone has the solo ratio of figure 2',
  (model, ratio) => {
    const spec = omniSpec('rtx-6000-ada', model)
    const workload = generateWorkload({
      spec,
      mix: mixByLongFraction(spec.classes, 0.5),
      rate: 1,
      extent: { requests: 100 * MODELS[model].classes.length },
      seed: 1,
    })
    const target = simulatedTarget(spec, workload)
    const { solo, sweep } = collect(target, { requestsPerClass: 60, sms: [64, 96, spec.totalSms] })
    const p95 = (isLong: boolean): number => {
      const values = solo
        .filter((of) => of.downstreamMs > 0 === isLong)
        .map((of) => of.firstResponseMs)
      return percentile(Float64Array.from(values).sort(), 0.95)
    }
    expect(Math.abs(p95(true) / p95(false) / ratio - 1)).toBeLessThan(0.25)
    // And co-running with the whole GPU is worse than with two thirds of it, as in figure 4b.
    expect(sweep[2]?.corunTtftMs).toBeGreaterThan((sweep[1]?.corunTtftMs ?? 0) * 1.05)
    expect(target.classes).toEqual([...MODELS[model].classes])
  },
)
