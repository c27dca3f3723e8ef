import fc from 'fast-check'
import { expect, test } from 'vitest'
import { correlation, estimate, paired } from '../../../src/sim/experiments/statistics.js'
import { mostIntervals } from '../../../src/sim/experiments/upper-bound.js'
import { runs } from '../../support/runs.js'

test('a 95 % interval by hand: mean 2, deviation 1, three values', () => {
  const of = estimate([1, 2, 3])
  expect(of.mean).toBe(2)
  expect(of.half).toBeCloseTo(4.303 / Math.sqrt(3), 3)
  expect(of.lower).toBeCloseTo(2 - 2.92 / Math.sqrt(3), 3)
})

test('pairing takes out what two columns share', () => {
  const of = paired([11, 52, 93], [10, 51, 92])
  expect(of.mean).toBe(1)
  expect(of.half).toBe(0)
})

test('one value has a mean and no interval', () => {
  expect(estimate([4]).mean).toBe(4)
  expect(estimate([4]).half).toBeNaN()
})

test('correlation of a line is 1, of a constant nothing, and holes are left out', () => {
  expect(correlation([1, 2, Number.NaN, 3], [2, 4, 100, 6])).toBeCloseTo(1, 12)
  expect(correlation([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1, 12)
  expect(correlation([1, 2, 3], [5, 5, 5])).toBeNaN()
})

test('the greedy choice of intervals is the best of all subsets', () => {
  const interval = fc
    .tuple(fc.nat(20), fc.integer({ min: 1, max: 10 }))
    .map(([from, long]) => ({ from, to: from + long }))
  fc.assert(
    fc.property(
      fc.array(interval, { maxLength: 9 }),
      fc.integer({ min: 1, max: 3 }),
      (intervals, k) => {
        expect(mostIntervals(intervals, k)).toBe(bestOfAll(intervals, k))
      },
    ),
    { numRuns: runs(300, 20_000) },
  )
})

function bestOfAll(intervals: readonly { from: number; to: number }[], k: number): number {
  let best = 0
  for (let mask = 0; mask < 1 << intervals.length; mask++) {
    const chosen = intervals.filter((_, i) => (mask >> i) & 1)
    const fits = chosen.every(
      ({ from }) => chosen.filter((of) => of.from <= from && of.to > from).length <= k,
    )
    if (fits) best = Math.max(best, chosen.length)
  }
  return best
}
