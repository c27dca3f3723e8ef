/**
 * Trials of the gate: a stage as the loop runs it (pilot, sizing, fresh pairs, verdict) on noise whose true effect is known.
 */
import { readFileSync } from 'node:fs'
import { type GateDeclaration, gateSchema } from '../../../src/deploy/gate/declaration.js'
import { judge, logEffect, type Outcome } from '../../../src/deploy/gate/judge.js'
import type { PairedRuns, RunSamples, Statistic } from '../../../src/deploy/gate/metric.js'
import { pilotLength, refusal, sizeFromPilot } from '../../../src/deploy/gate/pilot.js'
import { seededRandom } from '../../../src/deploy/seeded-random.js'
import { type NoiseShape, noiseSeries } from './noise.js'
import { orderStatisticRule } from './order-statistic-rule.js'

/** Noise of a shape, or real runs: of the face-to-face example on a quiet machine, of a hashing program on a busy one. */
export type Source = NoiseShape | Recorded

type Recorded = 'quiet-machine' | 'busy-machine'

/** From the root of the repository: this file is also bundled, and then lies elsewhere. */
const POOLS: Readonly<Record<Recorded, string>> = {
  'quiet-machine': 'test/deploy-loop/golden/run-pool-quiet.json',
  'busy-machine': 'test/deploy-loop/golden/run-pool-busy.json',
}

/** `numPairs` neighbouring runs of one unchanging backend, in time order. */
export type DrawPairs = (
  numPairs: number,
  seed: string,
) => readonly (readonly [RunSamples, RunSamples])[]

export function sourceOf(source: Source, requestsPerRun: number): DrawPairs {
  if (source === 'quiet-machine' || source === 'busy-machine') return drawFrom(source)
  return (numPairs, seed) => {
    const series = noiseSeries(source, 2 * numPairs, requestsPerRun, seed)
    return Array.from({ length: numPairs }, (_, i) => [series[2 * i]!, series[2 * i + 1]!] as const)
  }
}

/** Neighbours in the recorded series stay neighbours; pairs are drawn with replacement. */
function drawFrom(source: Recorded): DrawPairs {
  const pool = readPool(POOLS[source])
  return (numPairs, seed) => {
    const random = seededRandom(`${source}/${seed}`)
    return Array.from({ length: numPairs }, () => pool[random.below(pool.length)]!)
  }
}

function readPool(file: string): (readonly [RunSamples, RunSamples])[] {
  const { runs } = JSON.parse(readFileSync(file, 'utf8')) as {
    runs: number[][]
  }
  const samples = runs.map((run): RunSamples => {
    const firstOutputMs = run.map((us) => us / 1000)
    return { firstOutputMs, gapMs: firstOutputMs, ratePerSec: firstOutputMs.map((ms) => 1000 / ms) }
  })
  return Array.from({ length: samples.length >> 1 }, (_, i) => [
    samples[2 * i]!,
    samples[2 * i + 1]!,
  ])
}

/** Labels by a fair coin; the candidate's times shrink by `saved`. */
export function labelled(
  neighbours: readonly (readonly [RunSamples, RunSamples])[],
  saved: number,
  seed: string,
): PairedRuns[] {
  const random = seededRandom(`labels/${seed}`)
  return neighbours.map(([first, second]) => {
    const [baseline, candidate] = random.coin() ? [first, second] : [second, first]
    return { baseline, candidate: faster(candidate, saved) }
  })
}

function faster(run: RunSamples, saved: number): RunSamples {
  if (saved === 0) return run
  return {
    firstOutputMs: run.firstOutputMs.map((ms) => ms * (1 - saved)),
    gapMs: run.gapMs.map((ms) => ms * (1 - saved)),
    ratePerSec: run.ratePerSec.map((rate) => rate / (1 - saved)),
  }
}

/** What a pilot makes of a stage: how long it was itself, and the pairs of the stage; undefined when it refuses. */
export function sizeTrial(
  draw: DrawPairs,
  gate: GateDeclaration,
  options: { readonly alpha: number; readonly seed: string },
): { readonly pilotPairs: number; readonly pairs: number | undefined } {
  const { alpha, seed } = options
  const pilot: PairedRuns[] = []
  const report = () => sizeFromPilot(pilot, gate, alpha, seed)
  for (let missing = gate.pilotPairs; missing > 0; ) {
    const slice = `pilot/${pilot.length}/${seed}`
    pilot.push(...labelled(draw(missing, slice), 0, slice))
    missing = Math.min(pilotLength(report(), gate) - pilot.length, pilot.length)
  }
  const sized = report()
  const refused = refusal(sized, gate, 0) !== undefined
  return { pilotPairs: pilot.length, pairs: refused ? undefined : sized.pairs }
}

/** The verdict on neighbours that are labelled afresh. */
export function judgeTrial(
  neighbours: ReturnType<DrawPairs>,
  gate: GateDeclaration,
  options: { readonly saved: number; readonly alpha: number; readonly seed: string },
): Outcome {
  const { saved, alpha, seed } = options
  return judge(labelled(neighbours, saved, seed), gate, { alpha, seed, bounds: false }).outcome
}

/** One stage at level `alpha`: pilot, sizing, fresh pairs, verdict. */
export function trial(
  draw: DrawPairs,
  gate: GateDeclaration,
  options: { readonly saved: number; readonly alpha: number; readonly seed: string },
): Outcome | 'refused' {
  const { pairs } = sizeTrial(draw, gate, options)
  return pairs === undefined ? 'refused' : judgeTrial(draw(pairs, options.seed), gate, options)
}

/** The published rule on the same neighbours, labelled alike; it wants exactly `ORDER_RULE_PAIRS`. */
export function orderRuleTrial(
  neighbours: ReturnType<DrawPairs>,
  gate: GateDeclaration,
  options: { readonly saved: number; readonly seed: string },
): Outcome {
  const pairs = labelled(neighbours, options.saved, options.seed)
  return orderStatisticRule(pairs, gate.primary[0]!, logEffect(gate.minimumEffect))
}

/** The gates of the trials: one metric, the loop's own defaults. Tails get the pairs they need. */
export function trialGate(statistic: Statistic): GateDeclaration {
  const tail = statistic !== 'median'
  return gateSchema.parse({
    primary: [{ sample: 'firstOutputMs', statistic }],
    pilotPairs: tail ? 40 : 10,
    maxPairs: tail ? 4000 : 120,
  })
}

/** P(X >= `successes`) for X binomial: how surprising so many false accepts would be at the declared level. */
export function binomialTail(successes: number, trials: number, probability: number): number {
  let logChoose = 0
  let below = 0
  for (let k = 0; k < successes; k++) {
    below += Math.exp(
      logChoose + k * Math.log(probability) + (trials - k) * Math.log1p(-probability),
    )
    logChoose += Math.log((trials - k) / (k + 1))
  }
  return Math.max(0, 1 - below)
}
