import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  FIGURE_2,
  FIGURE_4,
  FIGURE_8,
  FIGURE_9,
  FIGURE_10,
  FIGURE_11,
  PAPER_GPUS,
  PAPER_MODELS,
  TABLE_3,
} from '../../../src/sim/experiments/paper-numbers.js'
import { rangedParameters, valueAt } from '../../../src/sim/experiments/sensitivity.js'
import { GPUS, MODELS, type ModelName } from '../../../src/sim/omni/parameters.js'
import { omniParameters } from '../../../src/sim/omni/spec.js'

const REFERENCE = '../shared/reference/horizonserve.json'

test.skipIf(!existsSync(REFERENCE))('what is quoted is what the paper prints', () => {
  const paper = JSON.parse(readFileSync(REFERENCE, 'utf8'))
  expect(Object.values(FIGURE_2)).toEqual([
    paper.figure2['qwen-omni'],
    paper.figure2['mimo-audio'],
    paper.figure2.bagel,
  ])
  expect(FIGURE_4.decodeTpotMs).toEqual(paper.figure4.sharedDecodeTpotMsBySm)
  expect(FIGURE_4.corunTtftMs).toEqual(paper.figure4.corunShortTtftMsBySm)
  for (const [i, of] of FIGURE_8.quoted.entries()) {
    const printed = paper.figure8.points[i]
    expect([of.gpu, of.model, of.horizonServe, of.bestBaseline]).toEqual([
      printed.platform,
      printed.model,
      printed.horizonServePct,
      printed.bestBaselinePct,
    ])
    expect(of.rate).toBe(printed.arrivalRate ?? FIGURE_8.rate)
    expect(of.longFraction).toBe(printed.longFraction ?? FIGURE_8.longFraction)
  }
  for (const model of PAPER_MODELS) {
    const [low, high] = paper.figure8.arrivalRates[model]
    expect([FIGURE_8.rates[model][0], FIGURE_8.rates[model].at(-1)]).toEqual([low, high])
    for (const [g, gpu] of PAPER_GPUS.entries()) {
      expect(FIGURE_9[gpu][model]).toBe(paper.figure9.p95ReductionPctVsBestBaseline[gpu][model])
      const tpot = paper.table3[model][gpu]
      expect(TABLE_3[gpu][model]).toEqual([...tpot[0], ...tpot[4]])
      const pairs = paper.figure11.ablatedPairs[PAPER_GPUS[g] as string]
      expect(FIGURE_11[gpu][model]).toEqual(pairs[PAPER_MODELS.indexOf(model)])
    }
  }
  expect(FIGURE_10.correlation).toBe(paper.figure10.correlationBandwidthVsCap)
})

test('every parameter of every GPU and model has a source, and its value lies in its range', () => {
  for (const gpu of Object.keys(GPUS) as (keyof typeof GPUS)[]) {
    for (const model of Object.keys(MODELS) as ModelName[]) {
      for (const [path, { value, low, high, source }] of omniParameters(gpu, model)) {
        expect(source, path).not.toBe('')
        expect(low, path).toBeLessThanOrEqual(value)
        expect(value, path).toBeLessThanOrEqual(high)
      }
    }
  }
})

test('the ends of a range are its low and its high', () => {
  for (const model of PAPER_MODELS) {
    for (const of of rangedParameters(model)) {
      expect(valueAt(of, 0) / of.low || 0).toBeCloseTo(of.low === 0 ? 0 : 1, 2)
      expect(valueAt(of, 1) / of.high).toBeCloseTo(1, 2)
    }
  }
})
