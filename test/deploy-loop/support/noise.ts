/**
 * Synthetic noise for the gate: series of runs of one unchanging backend, in time order. Each shape is one that measurements
 * on shared machines show: heavy tails, drift, two modes, rare stalls, an order effect between neighbours.
 */
import type { RunSamples } from '../../../src/deploy/gate/metric.js'
import { type SeededRandom, seededRandom } from '../../../src/deploy/seeded-random.js'

export type NoiseShape = 'calm' | 'heavy-tails' | 'drift' | 'bimodal' | 'stalls' | 'order-effect'

/** `numRuns` runs of `numRequests` requests each, around 100 ms. */
export function noiseSeries(
  shape: NoiseShape,
  numRuns: number,
  numRequests: number,
  seed: string,
): RunSamples[] {
  const random = seededRandom(`${shape}/${seed}`)
  let walk = 0
  return Array.from({ length: numRuns }, (_, index) => {
    walk += 0.01 * normal(random)
    const level = 100 * Math.exp(runLevel(shape, random, index, numRuns, walk))
    const firstOutputMs = Array.from({ length: numRequests }, () => {
      const spread = shape === 'heavy-tails' ? 0.12 * student3(random) : 0.15 * normal(random)
      return level * Math.exp(Math.max(-2, Math.min(4, spread)))
    })
    return { firstOutputMs, gapMs: firstOutputMs, ratePerSec: firstOutputMs.map((ms) => 1000 / ms) }
  })
}

function runLevel(
  shape: NoiseShape,
  random: SeededRandom,
  index: number,
  numRuns: number,
  walk: number,
): number {
  switch (shape) {
    case 'calm':
      return 0.02 * normal(random)
    case 'heavy-tails':
      return 0.03 * student3(random)
    case 'drift':
      return 0.6 * (index / numRuns) + walk + 0.02 * normal(random)
    case 'bimodal':
      return (random.uniform() < 0.3 ? 0.12 : 0) + 0.02 * normal(random)
    case 'stalls':
      return (random.uniform() < 0.05 ? 0.5 : 0) + 0.02 * normal(random)
    case 'order-effect':
      return (index % 2 === 1 ? 0.08 : 0) + 0.02 * normal(random)
  }
}

/** Box and Muller. */
export function normal(random: SeededRandom): number {
  return Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform())
}

/** Student's t with 3 degrees of freedom: finite variance, no finite fourth moment. */
function student3(random: SeededRandom): number {
  const chi = [0, 1, 2].reduce((sum) => sum + normal(random) ** 2, 0)
  return normal(random) / Math.sqrt(chi / 3)
}
