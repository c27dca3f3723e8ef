import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Groups, LONG, SHORT, type Signals } from '../../../src/core/index.js'
import { vanillaPolicy } from '../../../src/policies/index.js'
import { OUTCOME } from '../../../src/sim/omni/run-record.js'
import { POLICY_CASES } from '../../../src/sim/policy-case.js'
import { type SimulationResult, simulate } from '../../../src/sim/simulate.js'
import type { Workload } from '../../../src/sim/workload/workload.js'
import { runs } from '../../support/runs.js'
import { smallSimulation } from '../../support/simulated.js'

/** Every request ends once, and its times follow one another. */
function checkRecord(workload: Workload, { record, summary, metrics }: SimulationResult): void {
  for (let i = 0; i < workload.size; i++) {
    const isLong = workload.classes[workload.classIndex[i] as number]?.path === 'long'
    const of = (column: Float64Array): number => column[i] as number
    if (record.outcome[i] === OUTCOME.refused) {
      expect(of(record.admittedMs)).toBeNaN()
      continue
    }
    expect(record.outcome[i]).toBe(OUTCOME.completed)
    const times = [
      of(workload.arrivalMs),
      of(record.admittedMs),
      of(record.firstTokenMs),
      of(record.decodedMs),
      ...(isLong ? [of(record.downstreamStartMs), of(record.firstResponseMs)] : []),
      of(record.finishedMs),
    ]
    expect(times).toEqual([...times].sort((a, b) => a - b))
    if (!isLong) expect(of(record.firstResponseMs)).toBe(of(record.firstTokenMs))
  }
  const { all, short, long } = summary
  expect(all.completed + all.refused + all.unfinished).toBe(workload.size)
  expect(short.arrived + long.arrived).toBe(all.arrived)
  // The scheduler kept its own books; refused requests never reached it.
  for (const [name, of] of Object.entries(metrics.classes)) {
    const mine = summary.classes[name]
    expect(of.completed).toBe(mine?.completed ?? 0)
    expect(of.met).toBe(mine?.met ?? 0)
    expect(of.unfinished).toBe(0)
  }
}

// The long suite simulates a thousand runs.
test('every request is accounted for exactly once, its times in order, under every policy and model', {
  timeout: 900_000,
}, () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...POLICY_CASES),
      fc.constantFrom('qwen2.5-omni', 'mimo-audio', 'bagel'),
      fc.record({
        seed: fc.integer(),
        requests: fc.integer({ min: 1, max: 40 }),
        rate: fc.double({ min: 0.05, max: 20, noNaN: true }),
        longFraction: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      fc.record({
        'shared.slots': fc.integer({ min: 1, max: 8 }),
        'downstream.slots': fc.integer({ min: 1, max: 4 }),
        'shared.tokenBudget': fc.integer({ min: 64, max: 4096 }),
        // What is left of the 48 GB is KV cache, from plenty to a few hundred tokens.
        'shared.kvReserveGb': fc.constantFrom(30, 47.5, 47.8, 47.95),
      }),
      (policy, model, workloadOptions, overrides) => {
        const { spec, workload, calibration } = smallSimulation({
          model,
          overrides,
          ...workloadOptions,
        })
        const result = simulate({ runtime: spec, workload, policy, calibration })
        checkRecord(workload, result)
      },
    ),
    { numRuns: runs(25, 1_000) },
  )
})

test.each(POLICY_CASES)('the same run twice is the same to the byte: $name', (policy) => {
  const bytes = (): string => {
    const { spec, workload, calibration } = smallSimulation({ requests: 80, rate: 1 })
    const run = simulate({ runtime: spec, workload, policy, calibration })
    return JSON.stringify([run.summary, run.series, run.metrics, [...run.record.finishedMs]])
  }
  expect(bytes()).toBe(bytes())
})

test('a full KV cache takes the newest request back, and everybody still completes', () => {
  const { spec, workload, calibration } = smallSimulation({
    requests: 40,
    rate: 5,
    overrides: { 'shared.slots': 8 },
  })
  // Room for about two of the longest requests.
  const tight = { ...spec, kvCapacityTokens: 3000 }
  for (const policy of POLICY_CASES) {
    const result = simulate({ runtime: tight, workload, policy, calibration })
    checkRecord(workload, result)
    expect(result.preemptions).toBeGreaterThan(0)
  }
})

test('a request larger than the KV cache is refused on arrival and counts as missed', () => {
  const { spec, workload, calibration } = smallSimulation({ requests: 40 })
  const tiny = { ...spec, kvCapacityTokens: 400 }
  const [policy] = POLICY_CASES
  if (policy === undefined) throw new Error('no policy')
  const { summary } = simulate({ runtime: tiny, workload, policy, calibration })
  expect(summary.all.refused).toBeGreaterThan(0)
  expect(summary.all.completed + summary.all.refused).toBe(40)
  expect(summary.all.attainmentOverArrived).toBeLessThan(
    summary.all.attainmentOverCompleted + 1e-12,
  )
})

test('a run that is stopped counts what has not ended as unfinished', () => {
  const { spec, workload, calibration } = smallSimulation({ requests: 60, rate: 2 })
  const [policy] = POLICY_CASES
  if (policy === undefined) throw new Error('no policy')
  const untilMs = workload.arrivalMs[59] as number
  const { summary, virtualMs } = simulate({ runtime: spec, workload, policy, calibration, untilMs })
  expect(virtualMs).toBe(untilMs)
  expect(summary.all.unfinished).toBeGreaterThan(0)
  expect(summary.all.completed + summary.all.unfinished).toBe(60)
})

test('a token is never an event: a step of a full batch is one', () => {
  const { spec, workload, calibration } = smallSimulation({ requests: 60, rate: 10 })
  const [policy] = POLICY_CASES
  if (policy === undefined) throw new Error('no policy')
  const run = simulate({ runtime: spec, workload, policy, calibration })
  const tokens = [...workload.answerTokens].reduce((sum, n) => sum + n, 0)
  expect(run.steps * 2).toBeLessThan(tokens)
  expect(run.events).toBeLessThan(tokens)
})

test('a policy that never shows anything is an error, not an endless run', () => {
  const { spec, workload, calibration } = smallSimulation({ requests: 5 })
  const policy = {
    name: 'closed',
    about: 'hides everything',
    sharing: 'mps' as const,
    policy: () => ({
      ...vanillaPolicy(),
      filters: () => [
        {
          name: 'closed',
          filter(_signals: Signals, groups: Groups) {
            groups.hide(SHORT, false)
            groups.hide(LONG, false)
          },
        },
      ],
    }),
  }
  expect(() => simulate({ runtime: spec, workload, policy, calibration })).toThrow(
    'shows nothing although nothing runs',
  )
})
