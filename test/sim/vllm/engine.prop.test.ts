import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runEngine } from '../../../src/sim/vllm/engine.js'
import { createRequestTable } from '../../../src/sim/vllm/request-table.js'
import { FREE, PLAIN_PRICE, settingsOf } from '../../support/engine-runs.js'
import { runs } from '../../support/runs.js'

const request = fc.record({
  readyMs: fc.integer({ min: 0, max: 400 }),
  promptTokens: fc.integer({ min: 1, max: 300 }),
  outputTokens: fc.integer({ min: 1, max: 60 }),
})

it('finishes every request once, within budget and batch, in the order of its stamps, twice the same', () => {
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 25 }),
      fc.record({
        maxSeqs: fc.integer({ min: 1, max: 9 }),
        dataParallel: fc.constantFrom(1, 2),
        asyncScheduling: fc.boolean(),
        prefixCaching: fc.boolean(),
        reserveFullPrompt: fc.boolean(),
      }),
      // 23 blocks of 16 hold the longest request alone and few together, so preemption is common.
      fc.integer({ min: 24, max: 60 }),
      (requests, overrides, blocks) => {
        const settings = settingsOf(overrides)
        const once = (cohort = true) => {
          const steps: number[] = []
          const table = createRequestTable(requests)
          let computed = 0
          const done = runEngine({
            table,
            settings,
            blocks,
            price: PLAIN_PRICE,
            constants: FREE,
            scheduler: { cohort },
            observe: (batches, startMs, endMs) => {
              if (!(endMs > startMs)) expect.unreachable()
              for (const batch of batches) {
                if (batch.tokens > settings.maxBatchedTokens) expect.unreachable()
                if (batch.sequences > settings.maxSeqs) expect.unreachable()
                computed += batch.tokens
                const { tokens, sequences, decodes, contextSum, chunks } = batch
                const { contextMax, contextMin } = batch
                steps.push(endMs, tokens, sequences, decodes, contextSum, chunks)
                if (decodes > 0) steps.push(contextMax, contextMin)
              }
            },
          })
          return { table, done, computed, steps }
        }
        const { table, done, computed, steps } = once()
        for (let i = 0; i < table.count; i++) {
          const stamps = [
            table.readyMs[i]!,
            table.queuedMs[i]!,
            table.scheduledMs[i]!,
            table.firstTokenMs[i]!,
            table.lastTokenMs[i]!,
          ]
          expect(stamps.every(Number.isFinite)).toBe(true)
          for (let k = 1; k < stamps.length; k++)
            if (stamps[k]! < stamps[k - 1]!) expect.unreachable()
          expect(table.known[i]).toBe(table.promptTokens[i]! + table.outputTokens[i]!)
          expect(table.pending[i]).toBe(0)
        }
        // Each prompt token and each token but the last is computed once; more only after a preemption.
        const needed = requests.reduce((sum, r) => sum + r.promptTokens + r.outputTokens - 1, 0)
        if (done.preemptions === 0) expect(computed).toBe(needed)
        else expect(computed).toBeGreaterThanOrEqual(needed)
        const again = once()
        expect(again.done).toEqual(done)
        expect(again.table.lastTokenMs).toEqual(table.lastTokenMs)
        // Advancing those who only decode together changes nothing at all.
        const oneByOne = once(false)
        expect(oneByOne.steps).toEqual(steps)
        expect(oneByOne.done).toEqual(done)
        expect(oneByOne.table).toEqual(table)
      },
    ),
    { numRuns: runs(150, 5_000) },
  )
})
