import { describe, expect, it } from 'vitest'
import { runEngine } from '../../../src/sim/vllm/engine.js'
import type { EngineSettings } from '../../../src/sim/vllm/engine-settings.js'
import { createRequestTable, type ReplayRequest } from '../../../src/sim/vllm/request-table.js'
import { FREE, PLAIN_PRICE, settingsOf } from '../../support/engine-runs.js'

function run(
  requests: ReplayRequest[],
  overrides: Partial<EngineSettings> = {},
  more: { blocks?: number; reuse?: { prefixOf: Int32Array; prefixTokens: Int32Array } } = {},
) {
  const table = createRequestTable(requests)
  const steps: { startMs: number; endMs: number; tokens: number; sequences: number }[] = []
  const done = runEngine({
    table,
    settings: settingsOf(overrides),
    blocks: more.blocks ?? 1000,
    price: PLAIN_PRICE,
    constants: FREE,
    ...(more.reuse === undefined ? {} : { reuse: more.reuse }),
    observe: (batches, startMs, endMs) =>
      steps.push({
        startMs,
        endMs,
        tokens: batches.reduce((sum, b) => sum + b.tokens, 0),
        sequences: batches.reduce((sum, b) => sum + b.sequences, 0),
      }),
  })
  return { table, done, steps }
}

const request = (readyMs: number, promptTokens: number, outputTokens: number): ReplayRequest => ({
  readyMs,
  promptTokens,
  outputTokens,
})

describe('engine', () => {
  it('gives one token a step: the prompt step takes 19.9 ms, each further one 10', () => {
    const { table, done } = run([request(0, 100, 4)])
    expect(table.firstTokenMs[0]).toBeCloseTo(19.9, 9)
    expect(table.lastTokenMs[0]).toBeCloseTo(49.9, 9)
    expect(done.steps).toBe(4)
  })

  it('schedules one step ahead: who comes during step k is queued at its end and runs in step k + 2', () => {
    const { table, steps } = run([request(0, 100, 20), request(25, 50, 2)])
    // Step 0 ends at 19.9, step 1 at 29.9: there the core looks, while step 2 has been launched already.
    expect(table.queuedMs[1]).toBeCloseTo(29.9, 9)
    expect(table.scheduledMs[1]).toBeCloseTo(29.9, 9)
    expect(table.firstTokenMs[1]).toBeCloseTo(39.9 + 14.9, 9)
    expect(steps[3]?.tokens).toBe(51)
  })

  it('without scheduling ahead runs it in the next step', () => {
    const { table } = run([request(0, 100, 20), request(25, 50, 2)], { asyncScheduling: false })
    expect(table.queuedMs[1]).toBeCloseTo(29.9, 9)
    expect(table.firstTokenMs[1]).toBeCloseTo(29.9 + 14.9, 9)
  })

  it('cuts a long prompt to the token budget, after the tokens of those that run', () => {
    const { steps, table } = run([request(0, 10, 30), request(1, 600, 2)])
    const withPrompt = steps.filter((step) => step.tokens > 1 && step.sequences === 2)
    expect(withPrompt.map((step) => step.tokens)).toEqual([256, 256, 91, 2])
    expect(Number.isNaN(table.lastTokenMs[1])).toBe(false)
  })

  it('runs no more requests at once than it may, first come first served', () => {
    const requests = Array.from({ length: 20 }, (_, i) => request(i, 16, 5))
    const { table, steps } = run(requests, { maxSeqs: 3 })
    expect(Math.max(...steps.map((step) => step.sequences))).toBe(3)
    const order = [...table.scheduledMs.keys()].sort(
      (a, b) => table.scheduledMs[a]! - table.scheduledMs[b]! || a - b,
    )
    expect(order).toEqual(requests.map((_, i) => i))
  })

  it('preempts the request admitted last when blocks run out, and recomputes it', () => {
    // Two prompts of 4 blocks in 11 usable ones; each grows by 3 blocks.
    const requests = [request(0, 64, 40), request(0, 64, 40)]
    const { table, done } = run(requests, {}, { blocks: 12 })
    expect(done.preemptions).toBe(1)
    expect([...table.preemptions]).toEqual([0, 1])
    expect(table.lastTokenMs[1]).toBeGreaterThan(table.lastTokenMs[0]!)
  })

  it('recomputes less with prefix caching', () => {
    const requests = [request(0, 64, 60), request(0, 64, 60)]
    const tokensOf = (prefixCaching: boolean) =>
      run(requests, { prefixCaching }, { blocks: 12 }).steps.reduce((sum, s) => sum + s.tokens, 0)
    expect(tokensOf(true)).toBeLessThan(tokensOf(false))
  })

  it('computes only what follows a shared prefix', () => {
    const requests = [request(0, 64, 4), request(100, 128, 4)]
    const reuse = { prefixOf: Int32Array.of(-1, 0), prefixTokens: Int32Array.of(0, 64) }
    const { steps } = run(requests, {}, { reuse })
    expect(steps.map((step) => step.tokens)).toEqual([64, 1, 1, 1, 64, 1, 1, 1])
    expect(run(requests, { prefixCaching: false }, { reuse }).steps[4]?.tokens).toBe(128)
  })

  it('spreads requests over data-parallel engines that step together', () => {
    const requests = Array.from({ length: 6 }, () => request(0, 32, 3))
    const { steps, done } = run(requests, { dataParallel: 2, maxSeqs: 3 })
    expect(steps[0]).toMatchObject({ tokens: 192, sequences: 6 })
    expect(done.steps).toBe(3)
  })
})
