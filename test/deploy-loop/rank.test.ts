import { describe, expect, it } from 'vitest'
import { gateSchema } from '../../src/deploy/gate/declaration.js'
import type { Ledger, VariantRecord } from '../../src/deploy/loop/ledger-state.js'
import { nextAction } from '../../src/deploy/loop/next-action.js'
import { combinationsWith, paretoFront, rankOpen } from '../../src/deploy/loop/rank.js'
import type { VariantSpec, VariantState } from '../../src/deploy/loop/variant.js'
import { QUICK_GATE } from './support/loop-project.js'

const gate = gateSchema.parse(QUICK_GATE)

function record(
  id: string,
  state: VariantState,
  change: Partial<VariantSpec> & {
    improvement?: number
    latencyMs?: number
    ratePerSec?: number
  } = {},
): VariantRecord {
  const { improvement, latencyMs, ratePerSec, ...spec } = change
  const environment = { platform: '', cpu: '', cores: 1, memoryGiB: 1, node: '', load1: 0 }
  const looks = [{ pairs: 10, outcome: 'accept' as const, improvement: improvement ?? 0 }]
  return {
    variant: {
      state,
      spec: {
        id,
        title: id,
        finding: { id: `f-${id}`, rule: `rule-${id}`, why: id },
        bottleneck: id,
        target: 'latency',
        gpus: 1,
        against: 'reference',
        parts: [],
        source: 'analysis',
        expectedGain: 0.3,
        ...spec,
      },
    },
    attempts: 1,
    digest: null,
    why: '',
    measurement:
      improvement === undefined
        ? null
        : {
            familyIndex: 0,
            expectedGain: null,
            stages: [{ stage: 'confirm', pairs: 10, seed: '', environment, done: [], looks }],
          },
    point: latencyMs === undefined ? null : { latencyMs, ratePerSec: ratePerSec ?? 1 },
  }
}

function ledger(...records: VariantRecord[]): Ledger {
  return {
    name: 'x',
    gates: { latency: gate, rate: gate, both: gate },
    budget: { runs: 1 },
    fixed: '',
    runsDriven: 0,
    variants: new Map(records.map((item) => [item.variant.spec.id, item])),
    measured: new Map(),
    stopped: null,
    head: '',
    lines: 1,
  }
}

describe('the ranking of what is pending', () => {
  it('goes by expected gain at first', () => {
    const ranked = rankOpen(
      ledger(
        record('small', 'proposed', { expectedGain: 0.1 }),
        record('large', 'proposed', { expectedGain: 0.6 }),
      ),
    )
    expect(ranked.map((item) => item.id)).toEqual(['large', 'small'])
  })

  it('believes a rule less that broke its promise, and moves on from a relieved bottleneck', () => {
    const rule = (name: string) => ({ finding: { id: name, rule: name, why: '' } })
    const before = ledger(
      record('a', 'proposed', rule('split')),
      record('b', 'proposed', { ...rule('stream'), expectedGain: 0.25 }),
    )
    expect(rankOpen(before)[0]!.id).toBe('a')
    const broken = record('x', 'rejected', {
      ...rule('split'),
      expectedGain: 0.5,
      improvement: 0.01,
    })
    expect(rankOpen(ledger(...before.variants.values(), broken))[0]!.id).toBe('b')
    const relieved = record('y', 'accepted', { bottleneck: 'a', improvement: 0.5 })
    expect(rankOpen(ledger(...before.variants.values(), relieved))[0]!.id).toBe('b')
  })

  it('finishes what is begun before it begins anything', () => {
    const action = nextAction(
      ledger(
        record('new', 'proposed', { expectedGain: 0.9 }),
        record('begun', 'verifying', { expectedGain: 0.1 }),
      ),
    )
    expect(action).toMatchObject({ do: 'verify', variant: 'begun' })
  })
})

describe('combinations', () => {
  const a = record('a', 'accepted', { improvement: 0.3, gpus: 2 })
  it('join accepted variants of different rules, built on the better one', () => {
    const b = record('b', 'accepted', { improvement: 0.5, target: 'rate' })
    expect(combinationsWith(ledger(a, b), 'a')).toMatchObject([
      { id: 'a-with-b', parts: ['a', 'b'], gpus: 2, against: 'b', target: 'both' },
    ])
  })
  it('leave out what builds on the other, shares its rule, or was combined before', () => {
    const child = record('child', 'accepted', { improvement: 0.5, against: 'a' })
    expect(combinationsWith(ledger(a, child), 'child')).toEqual([])
    const same = record('same', 'accepted', { improvement: 0.5, finding: a.variant.spec.finding })
    expect(combinationsWith(ledger(a, same), 'a')).toEqual([])
    const b = record('b', 'accepted', { improvement: 0.5 })
    const before = record('before', 'withdrawn', { parts: ['b', 'a'] })
    expect(combinationsWith(ledger(a, b, before), 'a')).toEqual([])
  })
})

describe('the Pareto front', () => {
  it('holds what nobody within the budget beats in both', () => {
    const front = (gpus: number) =>
      paretoFront(
        ledger(
          record('fast', 'accepted', { latencyMs: 10, ratePerSec: 5, gpus: 2 }),
          record('wide', 'accepted', { latencyMs: 20, ratePerSec: 9, gpus: 4 }),
          record('beaten', 'accepted', { latencyMs: 20, ratePerSec: 4, gpus: 1 }),
          record('open', 'measuring', {}),
        ),
        gpus,
      ).map((item) => item.variant.spec.id)
    expect(front(4)).toEqual(['fast', 'wide'])
    expect(front(2)).toEqual(['fast'])
    expect(front(1)).toEqual(['beaten'])
  })
})
