import { expect, it } from 'vitest'
import { type Distribution, exponential } from '../../src/sim/distributions.js'
import { simulateQueue } from '../../src/sim/queueing.js'

function liveBytes(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

it('keeps nothing of the requests that are finished', () => {
  const customers = 400_000
  const law = exponential(8)
  const seen: number[] = []
  let drawn = 0
  // Looks at the live heap in the middle of the run, early and late.
  const service: Distribution = {
    ...law,
    sample(rng) {
      drawn++
      if (drawn === 40_000 || drawn === customers) seen.push(liveBytes())
      return law.sample(rng)
    },
  }
  simulateQueue({ servers: 1, gap: exponential(10), service, customers, seed: 3 })
  expect(seen).toHaveLength(2)
  // 360,000 more customers in between; a byte for each would show.
  expect((seen[1] as number) - (seen[0] as number)).toBeLessThan(150_000)
})
