/**
 * @module
 * How often is the gate wrong, how often does it see what is there, and how does the published 24/37-of-60 rule do on the same
 * noise? Accept rates by true effect; each trial is a whole stage (pilot, sizing, fresh pairs, verdict).
 */
import {
  orderRuleTrial,
  type Source,
  sourceOf,
  trial,
  trialGate,
} from '../test/deploy-loop/support/trials.js'
import type { Bench } from './bench.js'

const SOURCES: readonly Source[] = [
  'recorded',
  'heavy-tails',
  'drift',
  'bimodal',
  'stalls',
  'order-effect',
]
const EFFECTS = [0, 0.02, 0.05, 0.1] as const
const ALPHA = 0.05
const REQUESTS_PER_RUN = 100

export const bench: Bench = {
  name: 'gate',
  question:
    'How often does the gate accept, by true effect and noise, beside the 24/37-of-60 rule?',
  async run({ quick, log }) {
    const trials = quick ? 20 : 200
    const rows: Record<string, unknown> = {}
    for (const statistic of ['median', 'run-p99', 'p99'] as const) {
      const gate = trialGate(statistic)
      for (const source of SOURCES) {
        const draw = sourceOf(source, REQUESTS_PER_RUN)
        let pairs = 0
        const accept: Record<string, number> = {}
        const orderRule: Record<string, number> = {}
        for (const saved of EFFECTS) {
          let mine = 0
          let rule = 0
          for (let i = 0; i < trials; i++) {
            const seed = `bench/${i}`
            const result = trial(draw, gate, { saved, alpha: ALPHA, seed })
            pairs += result.pairs
            if (result.outcome === 'accept') mine++
            if (orderRuleTrial(draw, gate, { saved, seed }) === 'accept') rule++
          }
          accept[`${100 * saved}%`] = mine / trials
          orderRule[`${100 * saved}%`] = rule / trials
        }
        const meanPairs = Math.round(pairs / trials / EFFECTS.length)
        rows[`${statistic} ${source}`] = { meanPairs, accept, orderRule60: orderRule }
        log(`  ${statistic} ${source}: ${JSON.stringify(rows[`${statistic} ${source}`])}`)
      }
    }
    return { gate: { trials, alpha: ALPHA, minimumEffect: 0.02, rows } }
  },
}
