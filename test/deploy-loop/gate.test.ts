import { describe, expect, it } from 'vitest'
import { gateSchema } from '../../src/deploy/gate/declaration.js'
import { confirmAlpha, familyAlphaLeft } from '../../src/deploy/gate/family.js'
import { judge } from '../../src/deploy/gate/judge.js'
import type { RunSamples, Statistic } from '../../src/deploy/gate/metric.js'
import { normalBelow, normalQuantile } from '../../src/deploy/gate/normal.js'
import { pilotLength, refusal, sizeFromPilot } from '../../src/deploy/gate/pilot.js'
import { runOrder } from '../../src/deploy/gate/run-order.js'
import { expandedTail, largestTail, locationBounds } from '../../src/deploy/gate/signed-rank.js'
import { seededRandom } from '../../src/deploy/seeded-random.js'
import { runs } from '../support/runs.js'
import { normal } from './support/noise.js'
import { ORDER_RULE_PAIRS } from './support/order-statistic-rule.js'
import {
  binomialTail,
  judgeTrial,
  labelled,
  orderRuleTrial,
  type Source,
  sourceOf,
  trial,
  trialGate,
} from './support/trials.js'

const ALPHA = 0.05
/** Requests per run: a p99 of fewer is a maximum. */
const REQUESTS = 100
const SOURCES: readonly Source[] = [
  'quiet-machine',
  'busy-machine',
  'heavy-tails',
  'drift',
  'bimodal',
]
/** The full numbers are the bench's (`--only gate`); these are enough to catch a gate that is broken. */

describe('the gate on a backend against itself', () => {
  // 5 sources x 400 = 2,000 trials per statistic in the long suite.
  it.each(['median', 'run-p99', 'p99'] as const)(
    'accepts no more often than declared, by %s',
    (statistic) => {
      const perSource = runs(statistic === 'median' ? 40 : 6, 400)
      const gate = trialGate(statistic)
      let accepts = 0
      let ruleAccepts = 0
      const lines = SOURCES.map((source) => {
        const draw = sourceOf(source, REQUESTS)
        let mine = 0
        let rule = 0
        for (let i = 0; i < perSource; i++) {
          const options = { saved: 0, alpha: ALPHA, seed: `aa/${i}` }
          const neighbours = draw(ORDER_RULE_PAIRS, options.seed)
          if (judgeTrial(neighbours, gate, options) === 'accept') mine++
          if (orderRuleTrial(neighbours, gate, options) === 'accept') rule++
        }
        expect(binomialTail(mine, perSource, ALPHA)).toBeGreaterThan(0.01)
        accepts += mine
        ruleAccepts += rule
        return `${source} ${mine}`
      })
      const total = perSource * SOURCES.length
      console.log(
        `A/A ${statistic}: ${accepts} false accepts of ${total} at ${ALPHA} (${lines.join(', ')}); 24/37 of 60: ${ruleAccepts}`,
      )
      expect(binomialTail(accepts, total, ALPHA)).toBeGreaterThan(0.01)
    },
    3_600_000,
  )

  it.each(['median', 'run-p99', 'p99'] as const)(
    'keeps its level at the edge, where the true effect is the minimum one, by %s',
    (statistic) => {
      const perSource = runs(statistic === 'median' ? 40 : 5, 400)
      const gate = trialGate(statistic)
      let accepts = 0
      for (const source of SOURCES) {
        const draw = sourceOf(source, REQUESTS)
        for (let i = 0; i < perSource; i++) {
          const options = { saved: gate.minimumEffect, alpha: ALPHA, seed: `edge/${i}` }
          if (judgeTrial(draw(ORDER_RULE_PAIRS, options.seed), gate, options) === 'accept')
            accepts++
        }
      }
      const total = perSource * SOURCES.length
      console.log(`edge ${statistic}: ${accepts} accepts of ${total} at ${ALPHA}`)
      expect(binomialTail(accepts, total, ALPHA)).toBeGreaterThan(0.01)
    },
    3_600_000,
  )
})

describe('the power of the gate', () => {
  const cases = (['median', 'run-p99', 'p99'] as const).flatMap((statistic) =>
    SOURCES.map((source) => ({ statistic, source, trials: trialsOf(statistic, source) })),
  )
  it.each(cases.filter(({ trials }) => trials > 0))(
    'is at least 0.8 against a tenth less time, by $statistic on $source',
    ({ statistic, source, trials }) => {
      const gate = trialGate(statistic)
      const draw = sourceOf(source, REQUESTS)
      let accepts = 0
      for (let i = 0; i < trials; i++)
        if (trial(draw, gate, { saved: 0.1, alpha: ALPHA, seed: `power/${i}` }) === 'accept')
          accepts++
      console.log(`power ${statistic} on ${source} at 10 %: ${(accepts / trials).toFixed(2)}`)
      // Refuted only when so few accepts would be surprising at a power of 0.8.
      expect(1 - binomialTail(accepts + 1, trials, 0.8)).toBeGreaterThan(0.01)
    },
    3_600_000,
  )
})

describe('a family of candidates', () => {
  it('accepts one false candidate or more no more often than declared, however many are tried', () => {
    const families = runs(20, 400)
    const gate = trialGate('median')
    const draw = sourceOf('bimodal', 10)
    let wrong = 0
    for (let family = 0; family < families; family++) {
      for (let index = 0; index < 20; index++) {
        // The worst case: every candidate exactly at the edge.
        const step = (alpha: number, stage: string) =>
          trial(draw, gate, {
            saved: gate.minimumEffect,
            alpha,
            seed: `${stage}/${family}/${index}`,
          })
        if (step(gate.screenAlpha, 'screen') !== 'accept') continue
        if (step(confirmAlpha(gate, index), 'confirm') !== 'accept') continue
        wrong++
        break
      }
    }
    console.log(
      `families of 20 false candidates: ${wrong} of ${families} with a false acceptance, ${gate.familyAlpha} declared`,
    )
    expect(binomialTail(wrong, families, gate.familyAlpha)).toBeGreaterThan(0.01)
  }, 3_600_000)

  it('never spends more than its error, and never runs out', () => {
    const gate = trialGate('median')
    let spent = 0
    for (let index = 0; index < 200; index++) {
      const alpha = confirmAlpha(gate, index)
      expect(alpha).toBeGreaterThan(0)
      spent += alpha * gate.screenAlpha
      expect(familyAlphaLeft(gate, index + 1)).toBeCloseTo(gate.familyAlpha - spent, 10)
    }
    expect(spent).toBeLessThan(gate.familyAlpha)
    expect(confirmAlpha(gate, 0)).toBeCloseTo(0.05)
  })

  it('pays for looks: several looks keep the level, unpaid ones do not', () => {
    const trials = runs(1500, 6000)
    const paid = gateSchema.parse({
      ...BARE,
      looks: [
        { at: 0.4, spend: 0.2 },
        { at: 0.7, spend: 0.3 },
        { at: 1, spend: 0.5 },
      ],
    })
    const random = seededRandom('looks')
    let paidAccepts = 0
    let unpaidAccepts = 0
    for (let i = 0; i < trials; i++) {
      const pairs = labelled(
        Array.from(
          { length: 30 },
          () =>
            [
              oneRun(Math.exp(0.1 * normal(random))),
              oneRun(Math.exp(0.1 * normal(random))),
            ] as const,
        ),
        0,
        `looks/${i}`,
      )
      const accepts = (alpha: number, numPairs: number) =>
        judge(pairs.slice(0, numPairs), paid, { alpha, seed: i }).outcome === 'accept'
      if (paid.looks.some((look) => accepts(ALPHA * look.spend, Math.ceil(look.at * 30))))
        paidAccepts++
      if (paid.looks.some((look) => accepts(ALPHA, Math.ceil(look.at * 30)))) unpaidAccepts++
    }
    console.log(`three looks: ${paidAccepts} of ${trials} paid for, ${unpaidAccepts} not`)
    expect(binomialTail(paidAccepts, trials, ALPHA)).toBeGreaterThan(0.01)
    expect(binomialTail(unpaidAccepts, trials, ALPHA)).toBeLessThan(0.01)
  })
})

describe('the parts of the gate', () => {
  it('knows the signed-rank distribution exactly', () => {
    for (const n of [5, 8, 11]) {
      const sums = new Map<number, number>()
      for (let signs = 0; signs < 2 ** n; signs++) {
        let sum = 0
        for (let rank = 1; rank <= n; rank++) if (signs & (1 << (rank - 1))) sum += rank
        sums.set(sum, (sums.get(sum) ?? 0) + 1)
      }
      for (const alpha of [0.2, 0.05, 0.01]) {
        let k = -1
        for (let count = 0; count + (sums.get(k + 1) ?? 0) <= alpha * 2 ** n; )
          count += sums.get(++k) ?? 0
        expect(largestTail(n, alpha)).toBe(k)
      }
    }
  })

  it('expands the distribution of many pairs on the safe side, and hardly wider', () => {
    for (const n of [200, 250]) {
      for (const alpha of [0.1, 0.05, 0.0025, 1e-5]) {
        const exact = largestTail(n, alpha)
        const expanded = expandedTail(n, 0.99 * alpha)
        expect(expanded).toBeLessThanOrEqual(exact)
        expect(expanded).toBeGreaterThan(0.995 * exact)
      }
    }
    // Past the exact range without a jump.
    expect(largestTail(251, 0.05) / largestTail(250, 0.05)).toBeCloseTo((251 / 250) ** 2, 2)
  })

  it('knows the normal distribution into its tails', () => {
    // Abramowitz and Stegun, tables 26.1 and 26.2.
    expect(normalBelow(1.96)).toBeCloseTo(0.97500210485178, 12)
    expect(normalBelow(-5) / 2.866515718791939e-7).toBeCloseTo(1, 8)
    expect(normalBelow(-10) / 7.619853024160527e-24).toBeCloseTo(1, 8)
    expect(normalBelow(3) - normalBelow(3 - 1e-9)).toBeLessThan(1e-11)
    for (const p of [1e-9, 0.01, 0.5, 0.95])
      expect(normalBelow(normalQuantile(p)) / p).toBeCloseTo(1, 9)
  })

  it('gives no bound where no number of signs could', () => {
    expect(locationBounds([1, 2, 3, 4], 0.05)).toMatchObject({ lower: Number.NEGATIVE_INFINITY })
    expect(locationBounds([1, 2, 3, 4, 5], 0.05).lower).toBe(1)
  })

  it('tells better from worse from open, and a harmed guard from an unproved one', () => {
    const gate = gateSchema.parse({
      ...BARE,
      guards: [{ metric: { sample: 'ratePerSec', statistic: 'median' }, margin: 0.1 }],
    })
    const random = seededRandom('verdicts')
    const verdict = (latency: number, rate: number, spread = 0.02) => {
      const jitter = () => Math.exp(spread * normal(random))
      const pairs = Array.from({ length: 20 }, () => ({
        baseline: run(100 * jitter(), 10 * jitter()),
        candidate: run(100 * latency * jitter(), 10 * rate * jitter()),
      }))
      return judge(pairs, gate, { alpha: ALPHA, seed: 1 }).outcome
    }
    expect(verdict(0.8, 1)).toBe('accept')
    expect(verdict(1.05, 1)).toBe('reject')
    expect(verdict(0.8, 0.7)).toBe('reject')
    expect(verdict(0.8, 1, 0.5)).toBe('inconclusive')
  })

  it('sees a stall in one run of ten by p99, which the typical run does not show', () => {
    const random = seededRandom('stalls')
    const pair = (stalled: boolean) => {
      const series = (worse: number) =>
        Array.from({ length: 100 }, () => 100 * worse * Math.exp(0.05 * normal(random)))
      return { baseline: times(series(1)), candidate: times(series(stalled ? 3 : 0.9)) }
    }
    const pairs = Array.from({ length: 40 }, (_, i) => pair(i % 10 === 0))
    const by = (statistic: 'run-p99' | 'p99') =>
      judge(
        pairs,
        gateSchema.parse({ ...BARE, primary: [{ sample: 'firstOutputMs', statistic }] }),
        { alpha: ALPHA, seed: 1 },
      )
    expect(by('run-p99').outcome).toBe('accept')
    expect(by('p99').outcome).not.toBe('accept')
    expect(by('p99').evidence[0]!.improvement).toBeLessThan(-1)
  })

  it('orders runs by fair coins, the same for the same seed', () => {
    expect(runOrder(50, 'a')).toEqual(runOrder(50, 'a'))
    expect(runOrder(50, 'a')).not.toEqual(runOrder(50, 'b'))
    const order = runOrder(1000, 'fair')
    const first = order
      .filter((_, i) => i % 2 === 0)
      .filter((item) => item.side === 'baseline').length
    expect(Math.abs(first - 500)).toBeLessThan(80)
    order.forEach((item, i) => {
      expect(item.pair).toBe(i >> 1)
    })
  })

  it('is deterministic for a seed, bounds included', () => {
    const draw = sourceOf('heavy-tails', REQUESTS)
    const pairs = labelled(draw(20, 'same'), 0.05, 'same')
    const gate = trialGate('p99')
    const first = judge(pairs, gate, { alpha: ALPHA, seed: 'x' })
    expect(judge(pairs, gate, { alpha: ALPHA, seed: 'x' })).toEqual(first)
    const { lower, upper, improvement } = first.evidence[0]!
    expect(lower!).toBeLessThan(improvement)
    expect(upper!).toBeGreaterThan(improvement)
  })

  it('asks the pilot how many pairs it takes, and says when the budget is too small', () => {
    const quiet = labelled(sourceOf('calm', REQUESTS)(10, 'q'), 0, 'q')
    const loud = labelled(sourceOf('heavy-tails', REQUESTS)(10, 'l'), 0, 'l')
    const gate = gateSchema.parse({ ...BARE, maxPairs: 12, detectEffect: 0.05 })
    const small = sizeFromPilot(quiet, gate, ALPHA, 1)
    const large = sizeFromPilot(loud, gate, ALPHA, 1)
    expect(small.metrics[0]!.neededPairs).toBeLessThan(large.metrics[0]!.neededPairs)
    expect(large).toMatchObject({ pairs: 12, enough: false })
    expect(large.metrics[0]!.detectable).toBeGreaterThan(0.05)
    // A pilot is a quarter of what it asks for, so far as that is allowed.
    expect(pilotLength(large, gate)).toBe(3)
    expect(pilotLength({ ...large, wanted: 400 }, { ...gate, maxPairs: 4000 })).toBe(100)
    expect(refusal(small, { ...gate, detectEffect: 0.1 }, 0)).toBeUndefined()
    expect(refusal(large, gate, 0)).toMatch(/needs \d+ pairs to show 5 %, 12 are allowed/)
    expect(refusal(large, gate, 0.9)).toBeUndefined()
  })

  it('refuses a tail of too few requests, empty runs and impossible declarations', () => {
    const pairs = labelled(sourceOf('calm', 4)(10, 'short'), 0, 'short')
    expect(() => judge(pairs, trialGate('p99'), { alpha: ALPHA, seed: 1 })).toThrow(
      /at least 100 over all runs/,
    )
    expect(() => judge(pairs, trialGate('run-p99'), { alpha: ALPHA, seed: 1 })).toThrow(
      /at least 100 in every run/,
    )
    const empty = { firstOutputMs: [], gapMs: [], ratePerSec: [] }
    expect(() =>
      judge([{ baseline: empty, candidate: empty }], gateSchema.parse(BARE), {
        alpha: ALPHA,
        seed: 1,
      }),
    ).toThrow(/no sample/)
    expect(gateSchema.safeParse({ ...BARE, minimumEffect: 0.2, detectEffect: 0.1 }).success).toBe(
      false,
    )
    expect(gateSchema.safeParse({ ...BARE, looks: [{ at: 0.5, spend: 1 }] }).success).toBe(false)
    expect(
      gateSchema.safeParse({
        ...BARE,
        looks: [
          { at: 0.5, spend: 1 },
          { at: 1, spend: 1 },
        ],
      }).success,
    ).toBe(false)
  })
})

const BARE = {
  primary: [{ sample: 'firstOutputMs' as const, statistic: 'median' as const }],
  minimumEffect: 0,
}

/** Tails of the busy machine want a thousand pairs and more, which is for the long suite. */
function trialsOf(statistic: Statistic, source: Source): number {
  if (statistic === 'median') return runs(40, 200)
  return source === 'busy-machine' ? runs(0, 50) : runs(4, 200)
}

function run(latency: number, rate: number): RunSamples {
  return { firstOutputMs: [latency], gapMs: [1], ratePerSec: [rate] }
}

function oneRun(level: number): RunSamples {
  return run(100 * level, 10 / level)
}

function times(firstOutputMs: number[]): RunSamples {
  return { firstOutputMs, gapMs: firstOutputMs, ratePerSec: firstOutputMs.map((ms) => 1000 / ms) }
}
