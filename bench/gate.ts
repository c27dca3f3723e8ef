/**
 * @module
 * How often is the gate wrong, how often does it see what is there, how many pairs does it take, and how does the published
 * 24/37-of-60 rule do on the same noise? Each trial is a whole stage: pilot, sizing, fresh pairs, verdict.
 */
import type { GateDeclaration } from '../src/deploy/gate/declaration.js'
import type { Statistic } from '../src/deploy/gate/metric.js'
import {
  binomialTail,
  type DrawPairs,
  orderRuleTrial,
  type Source,
  sourceOf,
  trial,
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
const COUNTS = { none: 2000, edge: 500, power: 200 } as const
/** Pairs of the trials of error: a test's level does not depend on their number, its cost does. */
const ERROR_PAIRS = 60

export const bench: Bench = {
  name: 'gate',
  question:
    'How often does the gate accept, by true effect and noise, beside the 24/37-of-60 rule?',
  async run({ quick, log }) {
    const share = quick ? 0.02 : 1
    const error: Record<string, unknown> = {}
    const power: Record<string, unknown> = {}
    for (const statistic of ['median', 'run-p99', 'p99'] as const) {
      for (const source of SOURCES) {
        const name = `${statistic} ${source}`
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

function errorOf(statistic: Statistic, draw: DrawPairs, share: number) {
  const whole = trialGate(statistic)
  const gate: GateDeclaration = { ...whole, maxPairs: ERROR_PAIRS, relabellings: 399 }
  const accepts = (trials: number, saved: number, name: string): number => {
    let count = 0
    for (let i = 0; i < trials; i++) {
      const options = { saved, alpha: ALPHA, seed: `${name}/${i}`, insist: true }
      if (trial(draw, gate, options).outcome === 'accept') count++
    }
    return count
  }
  const none = Math.ceil(share * COUNTS.none)
  const edge = Math.ceil(share * COUNTS.edge)
  const falseAccepts = accepts(none, 0, 'none')
  const edgeAccepts = accepts(edge, gate.minimumEffect, 'edge')
  let orderRule = 0
  for (let i = 0; i < none; i++)
    if (orderRuleTrial(draw, gate, { saved: 0, seed: `none/${i}` }) === 'accept') orderRule++
  return {
    falseAccepts,
    of: none,
    edgeAccepts,
    ofEdge: edge,
    // How surprising so many are, if the level is kept.
    p: Number(binomialTail(falseAccepts, none, ALPHA).toPrecision(3)),
    pEdge: Number(binomialTail(edgeAccepts, edge, ALPHA).toPrecision(3)),
    orderRule60: orderRule,
  }
}

function powerOf(statistic: Statistic, draw: DrawPairs, trials: number) {
  const gate = trialGate(statistic)
  const pairs: number[] = []
  let refused = 0
  const accept: Record<string, number> = {}
  const orderRule: Record<string, number> = {}
  for (const saved of EFFECTS) {
    let mine = 0
    let rule = 0
    for (let i = 0; i < trials; i++) {
      const seed = `power/${i}`
      const result = trial(draw, gate, { saved, alpha: ALPHA, seed })
      if (result.outcome === 'refused') refused++
      else pairs.push(result.pairs)
      if (result.outcome === 'accept') mine++
      if (orderRuleTrial(draw, gate, { saved, seed }) === 'accept') rule++
    }
    accept[`${100 * saved}%`] = mine / trials
    orderRule[`${100 * saved}%`] = rule / trials
  }
  pairs.sort((a, b) => a - b)
  const at = (q: number): number => pairs[Math.floor(q * (pairs.length - 1))] ?? 0
  return {
    trials,
    pairs: { p10: at(0.1), median: at(0.5), p90: at(0.9) },
    refused: refused / trials / EFFECTS.length,
    accept,
    orderRule60: orderRule,
  }
}
