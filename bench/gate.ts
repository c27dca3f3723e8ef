/**
 * @module
 * How often is the gate wrong, how often does it see what is there, how many pairs does it take, and how does the published
 * 24/37-of-60 rule do on the same noise? The trials of error take 60 pairs, as that rule does: a level does not depend on their
 * number. Each trial of power is a whole stage: pilot, sizing, fresh pairs, verdict.
 */
import type { GateDeclaration } from '../src/deploy/gate/declaration.js'
import type { Statistic } from '../src/deploy/gate/metric.js'
import { ORDER_RULE_PAIRS } from '../test/deploy-loop/support/order-statistic-rule.js'
import {
  binomialTail,
  type DrawPairs,
  judgeTrial,
  orderRuleTrial,
  type Source,
  sizeTrial,
  sourceOf,
  trialGate,
} from '../test/deploy-loop/support/trials.js'
import type { Bench } from './bench.js'

const SOURCES: readonly Source[] = [
  'quiet-machine',
  'heavy-tails',
  'drift',
  'bimodal',
  'busy-machine',
]
const EFFECTS = [0.02, 0.05, 0.1] as const
const ALPHA = 0.05
const REQUESTS_PER_RUN = 100
/** Trials without an effect, with exactly the minimum one, and per effect of the power. */
const COUNTS = { none: 2000, edge: 1000, power: 200 } as const
/** Relabellings of a tail test: fewer than the gate's default cost a little power and no error. */
const RELABELLINGS = 399

export const bench: Bench = {
  name: 'gate',
  question:
    'How often does the gate accept, by true effect and noise, beside the 24/37-of-60 rule?',
  async run({ quick, log }) {
    const share = quick ? 0.02 : 1
    // A part of the study, for machines that are not free for long: GATE_ROWS="p99 drift,median bimodal".
    const only = process.env.GATE_ROWS?.split(',')
    const error: Record<string, unknown> = {}
    const power: Record<string, unknown> = {}
    for (const statistic of ['median', 'run-p99', 'p99'] as const) {
      for (const source of SOURCES) {
        const name = `${statistic} ${source}`
        if (only !== undefined && !only.includes(name)) continue
        const draw = sourceOf(source, REQUESTS_PER_RUN)
        error[name] = errorOf(statistic, draw, share)
        log(`  error ${name}: ${JSON.stringify(error[name])}`)
        power[name] = powerOf(statistic, draw, Math.ceil(share * powerTrials(statistic, source)))
        log(`  power ${name}: ${JSON.stringify(power[name])}`)
      }
    }
    return { gate: { alpha: ALPHA, minimumEffect: 0.02, error, power } }
  },
}

/** Tails of the busy machine want a thousand pairs and more. */
function powerTrials(statistic: Statistic, source: Source): number {
  return source === 'busy-machine' && statistic !== 'median' ? COUNTS.power / 4 : COUNTS.power
}

/** Accepts without an effect, and with exactly the minimum one, which is the worst that the level has to cover. */
function errorOf(statistic: Statistic, draw: DrawPairs, share: number) {
  const gate: GateDeclaration = { ...trialGate(statistic), relabellings: RELABELLINGS }
  const { minimumEffect } = gate
  const count = (trials: number, saved: number) => {
    let accepts = 0
    let orderRule = 0
    for (let i = 0; i < trials; i++) {
      const seed = `error/${saved}/${i}`
      const neighbours = draw(ORDER_RULE_PAIRS, seed)
      if (judgeTrial(neighbours, gate, { saved, alpha: ALPHA, seed }) === 'accept') accepts++
      if (orderRuleTrial(neighbours, gate, { saved, seed }) === 'accept') orderRule++
    }
    // How surprising so many are, if the level is kept.
    const p = Number(binomialTail(accepts, trials, ALPHA).toPrecision(3))
    return { accepts, of: trials, p, orderRule60: orderRule }
  }
  return {
    none: count(Math.ceil(share * COUNTS.none), 0),
    edge: count(Math.ceil(share * COUNTS.edge), minimumEffect),
  }
}

/** Accepts by true effect; each trial is a whole stage, its pilot shared by the effects. */
function powerOf(statistic: Statistic, draw: DrawPairs, trials: number) {
  const gate: GateDeclaration = { ...trialGate(statistic), relabellings: RELABELLINGS }
  const pairs: number[] = []
  const pilots: number[] = []
  const accepts = new Map<number, number>(EFFECTS.map((saved) => [saved, 0]))
  const orderRule = new Map<number, number>(EFFECTS.map((saved) => [saved, 0]))
  for (let i = 0; i < trials; i++) {
    const seed = `power/${i}`
    const sized = sizeTrial(draw, gate, { alpha: ALPHA, seed })
    pilots.push(sized.pilotPairs)
    const neighbours = sized.pairs && draw(sized.pairs, seed)
    if (neighbours) pairs.push(neighbours.length)
    const sixty = draw(ORDER_RULE_PAIRS, seed)
    for (const saved of EFFECTS) {
      const options = { saved, alpha: ALPHA, seed }
      if (neighbours && judgeTrial(neighbours, gate, options) === 'accept')
        accepts.set(saved, accepts.get(saved)! + 1)
      if (orderRuleTrial(sixty, gate, options) === 'accept')
        orderRule.set(saved, orderRule.get(saved)! + 1)
    }
  }
  const shares = (counts: ReadonlyMap<number, number>) =>
    Object.fromEntries([...counts].map(([saved, count]) => [`${100 * saved}%`, count / trials]))
  return {
    trials,
    pilotPairs: quantilesOf(pilots),
    pairs: quantilesOf(pairs),
    refused: (trials - pairs.length) / trials,
    accept: shares(accepts),
    orderRule60: shares(orderRule),
  }
}

function quantilesOf(counts: readonly number[]) {
  const sorted = counts.toSorted((a, b) => a - b)
  const at = (q: number): number => sorted[Math.floor(q * (sorted.length - 1))] ?? 0
  return { p10: at(0.1), median: at(0.5), p90: at(0.9) }
}
