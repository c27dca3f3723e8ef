import { describe, expect, it } from 'vitest'
import { exponential, lognormalOf } from '../../../src/sim/distributions.js'
import { createRng } from '../../../src/sim/rng.js'
import { runEngine } from '../../../src/sim/vllm/engine.js'
import { fitCollectives, fitHost } from '../../../src/sim/vllm/fit.js'
import { matchPrompts } from '../../../src/sim/vllm/match-prompts.js'
import { carryReuse } from '../../../src/sim/vllm/prompt-reuse.js'
import { createRequestTable, type ReplayRequest } from '../../../src/sim/vllm/request-table.js'
import { createStepPrice, type EngineConstants } from '../../../src/sim/vllm/step-price.js'
import { stepTimeline } from '../../../src/sim/vllm/step-timeline.js'
import { FREE, linearTables, recordOf, settingsOf } from '../../support/engine-runs.js'

const tables = linearTables()
const settings = settingsOf({ maxSeqs: 32, maxBatchedTokens: 2048 })

function workload(count: number, seed: number): ReplayRequest[] {
  const rng = createRng(seed)
  const gap = exponential(120)
  const length = lognormalOf(700, 0.7)
  let readyMs = 0
  return Array.from({ length: count }, () => {
    readyMs += gap.sample(rng)
    return {
      readyMs,
      promptTokens: Math.round(Math.max(200, Math.min(3000, length.sample(rng)))),
      outputTokens: 100 + rng.below(200),
    }
  })
}

function simulate(
  requests: ReplayRequest[],
  constants: EngineConstants,
  how = settings,
  reuse?: { prefixOf: Int32Array; prefixTokens: Int32Array },
) {
  const table = createRequestTable(requests)
  const steps: number[] = []
  runEngine({
    table,
    settings: how,
    blocks: 100_000,
    price: createStepPrice(tables, how, constants),
    constants,
    observe: (_, __, endMs) => steps.push(endMs),
    ...(reuse === undefined ? {} : { reuse }),
  })
  return { run: recordOf(table), steps }
}

describe('numbering the steps of a run', () => {
  it('finds the number of every step it is certain of', () => {
    const { run, steps } = simulate(workload(150, 1), FREE)
    const timeline = stepTimeline(run, { maxBatchedTokens: 2048, maxSeqs: 32, lead: 2 })
    const numberOf = new Map(steps.map((endMs, index) => [endMs, index]))
    const shifts = new Set(timeline.stamps.map(({ ms, step }) => numberOf.get(ms)! - step))
    // All stamps on one scale, and most stamps of the run among them.
    expect(shifts.size).toBe(1)
    expect(timeline.stamps.length).toBeGreaterThan(150)
  })

  it('refuses a run whose stamps contradict each other', () => {
    const { run } = simulate(workload(150, 1), FREE)
    const broken = run.map((r, i) => (i % 3 === 0 ? { ...r, outputTokens: r.outputTokens + 1 } : r))
    expect(() => stepTimeline(broken, { maxBatchedTokens: 2048, maxSeqs: 32, lead: 2 })).toThrow(
      /numbered in steps/,
    )
  })
})

describe('fitting', () => {
  it('finds again the constants that a run was made with', () => {
    const made = { ...FREE, stepMs: 0.7, promptStepMs: 4.2 }
    const { run } = simulate(workload(150, 3), made)
    const { constants } = fitHost({ name: 'made', run, settings, tables }, FREE)
    expect(constants.stepMs).toBeCloseTo(0.7, 2)
    expect(constants.promptStepMs).toBeCloseTo(4.2, 2)
  })

  it('finds the collectives on the early part of a tensor-parallel run', () => {
    const parallel = { ...settings, tensorParallel: 2 }
    const made = { ...FREE, promptStepMs: 3, collectiveUs: 25, collectiveBytesPerUs: 20_000 }
    const { run } = simulate(workload(150, 4), made, parallel)
    const start = { ...FREE, promptStepMs: 3 }
    const fitted = fitCollectives(
      { name: 'made', run, settings: parallel, tables },
      start,
      undefined,
      run[75]!.lastTokenMs,
    )
    expect(fitted.collectiveUs).toBeCloseTo(25, 0)
    expect(fitted.collectiveBytesPerUs / 20_000).toBeCloseTo(1, 2)
    expect(fitted.promptStepMs).toBe(3)
  })

  it('sees which prompts were cached, and by about how much', () => {
    const requests = workload(150, 5)
    const prefixOf = new Int32Array(150).fill(-1)
    const prefixTokens = new Int32Array(150)
    for (let i = 40; i < 150; i += 22) {
      requests[i] = { ...requests[i]!, promptTokens: 1500 }
      requests[i - 30] = { ...requests[i - 30]!, promptTokens: 808 }
      prefixOf[i] = i - 30
      prefixTokens[i] = 800
    }
    const made = { ...FREE, stepMs: 0.2, promptStepMs: 4 }
    const { run } = simulate(requests, made, settings, { prefixOf, prefixTokens })
    const { reuse } = fitHost({ name: 'made', run, settings, tables }, FREE)
    const told = [...reuse.prefixTokens].reduce((sum, tokens) => sum + tokens, 0)
    expect(told / 4000).toBeGreaterThan(0.7)
    expect(told / 4000).toBeLessThan(1.2)
    for (let i = 0; i < 150; i++)
      if (prefixTokens[i] === 0) expect(reuse.prefixTokens[i]).toBeLessThan(400)
  })
})

describe('matching prompts', () => {
  it('pairs two tokenizations of one list with requests left out on both sides', () => {
    const rng = createRng(8)
    const lengths = Array.from({ length: 120 }, () => 200 + rng.below(2000))
    const source = lengths.filter((_, i) => i % 17 !== 3)
    const target = lengths.filter((_, i) => i % 13 !== 5).map((n) => Math.round(n * 1.03))
    const pairs = matchPrompts(source, target)
    const kept = lengths.map((_, i) => i).filter((i) => i % 17 !== 3)
    const wanted = lengths.map((_, i) => i).filter((i) => i % 13 !== 5)
    const right = wanted.filter((i, at) => kept[pairs[at]!] === i).length
    expect(right / wanted.length).toBeGreaterThan(0.9)
  })

  it('carries reuse over, scaled and in whole blocks', () => {
    const { run } = simulate(workload(20, 9), FREE)
    const longer = run.map((r) => ({ ...r, promptTokens: Math.round(r.promptTokens * 1.05) }))
    const prefixOf = new Int32Array(20).fill(-1)
    const prefixTokens = new Int32Array(20)
    prefixOf[9] = 2
    prefixTokens[9] = 160
    const carried = carryReuse({ prefixOf, prefixTokens }, run, longer, 16)
    expect(carried.prefixOf[9]).toBe(2)
    expect(carried.prefixTokens[9]).toBe(160)
    expect(carried.prefixTokens.filter((tokens) => tokens > 0)).toHaveLength(1)
  })
})
