import { expect, test } from 'vitest'
import { omniSpec } from '../../../src/sim/omni/spec.js'
import { percentile } from '../../../src/sim/percentile.js'
import { createRng } from '../../../src/sim/rng.js'
import { parseTrace } from '../../../src/sim/traces/read-trace.js'
import { mixByLongFraction, mixByWeights } from '../../../src/sim/workload/class-mix.js'
import { generateWorkload, overlayTrace } from '../../../src/sim/workload/generate.js'
import { AUDIO_SECONDS, TEXT_LENGTHS } from '../../../src/sim/workload/lengths.js'
import { quantileFit } from '../../../src/sim/workload/quantile-fit.js'
import { offeredRate } from '../../../src/sim/workload/workload.js'

const spec = omniSpec('rtx-6000-ada', 'qwen2.5-omni')

/** Published p50, p95, p99 and mean of the traces. */
test.each([
  ['azure-conv', 'prompt', 1020, 4083, 4142, 1155],
  ['azure-conv', 'answer', 129, 451, 601, 211],
  ['azure-code', 'prompt', 1469, 7303, 7436, 2048],
  ['azure-code', 'answer', 13, 95, 251, 28],
  ['mooncake', 'prompt', 6909, 39_550, 85_400, 12_035],
  ['mooncake', 'answer', 350, 698, 1119, 343],
] as const)(
  'lengths of %s (%s) meet the published quantiles and mean',
  (name, part, p50, p95, p99, mean) => {
    const law = TEXT_LENGTHS[name][part]
    const rng = createRng(7)
    const values = Float64Array.from({ length: 40_000 }, () => law.sample(rng)).sort()
    const near = (got: number, wanted: number, share: number): void => {
      expect(Math.abs(got / wanted - 1)).toBeLessThan(share)
    }
    near(percentile(values, 0.5), p50, 0.05)
    near(percentile(values, 0.95), p95, 0.05)
    near(percentile(values, 0.99), p99, 0.05)
    near(values.reduce((a, b) => a + b, 0) / values.length, mean, 0.12)
  },
)

test('LibriSpeech and ShareGPT lengths meet their published means', () => {
  const rng = createRng(3)
  const mean = (sample: () => number): number => {
    let sum = 0
    for (let i = 0; i < 40_000; i++) sum += sample()
    return sum / 40_000
  }
  expect(mean(() => AUDIO_SECONDS.sample(rng))).toBeCloseTo(7.4, 0)
  const shareGpt = TEXT_LENGTHS.sharegpt.answer
  // Four fifths of 203.5 tokens and a fifth of 74.5, the first clamped at 1,024.
  expect(Math.abs(mean(() => shareGpt.sample(rng)) / 176 - 1)).toBeLessThan(0.05)
})

test('quantiles that do not rise are refused', () => {
  expect(() => quantileFit({ min: 1, p50: 10, p95: 5, p99: 20, max: 30, mean: 10 })).toThrow(
    'quantiles do not rise',
  )
})

test('the same seed gives the same workload; another mix keeps arrivals and lengths paired', () => {
  const make = (longFraction: number, seed: number) =>
    generateWorkload({
      spec,
      mix: mixByLongFraction(spec.classes, longFraction),
      rate: 0.4,
      extent: { requests: 200 },
      seed,
    })
  expect(make(0.3, 5)).toEqual(make(0.3, 5))
  expect(make(0.3, 5).arrivalMs).toEqual(make(0.7, 5).arrivalMs)
  expect(make(0.3, 5).arrivalMs).not.toEqual(make(0.3, 6).arrivalMs)
  const text = (of: ReturnType<typeof make>): number[] =>
    [...of.promptTokens].filter((_, i) => of.classes[of.classIndex[i] as number]?.name === 't2t')
  expect(text(make(0, 5)).length).toBeGreaterThan(text(make(0.7, 5)).length)
})

test.each(['poisson', 'gamma', 'weibull'] as const)(
  '%s arrivals have the rate asked for',
  (kind) => {
    const workload = generateWorkload({
      spec,
      mix: mixByLongFraction(spec.classes, 0.3),
      rate: 2,
      arrivals: kind === 'poisson' ? { kind } : { kind, cv: 2 },
      extent: { requests: 20_000 },
      seed: 11,
    })
    expect(Math.abs(offeredRate(workload.arrivalMs) / 2 - 1)).toBeLessThan(0.06)
  },
)

const TRACE = [
  'arrival_ms,prompt_tokens,output_tokens,class',
  '0,10,20,a2a',
  '1000,11,21,',
  '3000,12,22,t2t',
].join('\n')

test('an overlay keeps the trace’s text lengths, rescales its times by one factor, and draws only what it lacks', () => {
  const trace = parseTrace(TRACE, 'p.csv')
  const mix = mixByLongFraction(spec.classes, 1, (of) => of.input === 'text')
  const workload = overlayTrace(trace, 'p', { spec, mix, rate: 2, seed: 1 })
  const names = [...workload.classIndex].map((index) => workload.classes[index]?.name)
  expect(names).toEqual(['a2a', 't2a', 't2t'])
  expect([...workload.promptTokens]).toEqual([10, 11, 12])
  expect([workload.answerTokens[0], workload.answerTokens[2]]).toEqual([20, 22])
  expect([...workload.arrivalMs]).toEqual([0, 1000 / 3, 1000])
  expect(workload.audioSeconds[0]).toBeGreaterThan(0)
  const kept = overlayTrace(trace, 'p', { spec, mix, rate: 'trace', seed: 1 })
  expect([...kept.arrivalMs]).toEqual([0, 1000, 3000])
})

test('a trace that names a class the model lacks is refused, naming the request', () => {
  const trace = parseTrace(TRACE.replace('t2t', 't2i'), 'p.csv')
  const mix = mixByLongFraction(spec.classes, 0.5)
  expect(() => overlayTrace(trace, 'p', { spec, mix, rate: 'trace', seed: 1 })).toThrow('request 3')
})

test('a mix must be possible', () => {
  expect(() => mixByLongFraction(spec.classes, 1.1)).toThrow('longFraction')
  expect(() => mixByWeights(spec.classes, { t2i: 1 })).toThrow('t2i')
  expect(() => mixByWeights(spec.classes, { t2t: -1 })).toThrow('impossible weight')
  expect(() => mixByWeights(spec.classes, { t2t: 0 })).toThrow('all weights are 0')
  expect([...mixByWeights(spec.classes, { t2t: 3, a2a: 1 })].reduce((a, b) => a + b, 0)).toBe(1)
})
