import { expect, test } from 'vitest'
import { type Candidate, scaledLevels, tune } from '../../../src/sim/experiments/tune.js'

const start: Candidate = { uGuard: 2, longPathCap: 2, nMin: 2, nMax: 8, m: 2, ladderScale: 1 }
const options = { start, seeds: [1, 2], heldOut: [3, 4, 5], trials: 120, seed: 1 }

test('finds the best of a smooth objective, and all of the gain survives', () => {
  const evaluate = (of: Candidate): number => -Math.abs(of.uGuard - 3) - Math.abs(of.m - 4)
  const tuned = tune({ ...options, evaluate })
  expect(tuned.best).toMatchObject({ uGuard: 3, m: 4 })
  expect(tuned.gain.mean).toBe(3)
  expect(tuned.survives).toBe(1)
})

test('a gain that was luck does not survive', () => {
  // The search rewards a large cap on its own seeds only.
  const evaluate = (of: Candidate, seed: number): number => (seed < 3 ? of.longPathCap : 0)
  const tuned = tune({ ...options, evaluate })
  expect(tuned.best.longPathCap).toBe(16)
  expect(tuned.heldOutGain.mean).toBe(0)
  expect(tuned.survives).toBe(0)
})

test('nothing better leaves the start, within the trials allowed', () => {
  const tuned = tune({ ...options, trials: 10, evaluate: (of) => (of === start ? 1 : 0) })
  expect(tuned.best).toBe(start)
  expect(tuned.tried).toBeLessThanOrEqual(10)
  expect(tuned.survives).toBeNaN()
})

test('a scaled ladder stays a ladder', () => {
  expect(scaledLevels([36, 44, 54, 62], 1, 142)).toEqual([36, 44, 54, 62])
  expect(scaledLevels([100, 120], 1.4, 142)).toEqual([140])
  expect(scaledLevels([2, 4], 0.6, 142)).toEqual([2])
})
