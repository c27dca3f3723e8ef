import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createCoRunning,
  type Presence,
  type SharingMode,
} from '../../../src/sim/omni/co-running.js'
import { GPUS, MODELS } from '../../../src/sim/omni/parameters.js'
import { omniParameters, omniSpec } from '../../../src/sim/omni/spec.js'
import { runs } from '../../support/runs.js'

const { sharing } = omniSpec('rtx-6000-ada', 'qwen2.5-omni')
const MODES: SharingMode[] = ['time-sliced', 'mps', 'green-contexts']
const NOBODY: Presence = { duty: 0, bandwidth: 0, compute: 0 }
const BUSY: Presence = { duty: 1, bandwidth: 1, compute: 0.2 }
const memoryBound = { computeMs: 0.1, memoryMs: 10 }

test('isolated decode against SM fraction has the ratios of figure 4b', () => {
  const { memoryTime } = createCoRunning('green-contexts', sharing)
  expect(memoryTime(80 / 120)).toBe(1)
  expect(memoryTime(64 / 120)).toBeCloseTo(4.8 / 4.65, 9)
  expect(memoryTime(1)).toBeCloseTo(5.57 / 4.65, 9)
  expect(memoryTime(8 / 120)).toBeCloseTo(1.82, 9)
})

test('a step that prefills pays figure 4b’s 118 % for the whole GPU beside a downstream stage', () => {
  const { sharedMs } = createCoRunning('green-contexts', sharing)
  const quiet: Presence = { duty: 1, bandwidth: 0, compute: 0 }
  const ratio = sharedMs(memoryBound, 1, quiet, true) / sharedMs(memoryBound, 80 / 120, quiet, true)
  expect(ratio).toBeCloseTo(94.2 / 43.3, 9)
})

test('alone, no way of sharing costs anything', () => {
  for (const mode of MODES) {
    const { sharedMs, downstreamMs, memoryTime } = createCoRunning(mode, sharing)
    expect(sharedMs(memoryBound, 1, NOBODY, true)).toBeCloseTo(10 * memoryTime(1), 9)
    expect(downstreamMs({ computeMs: 10, memoryMs: 0 }, 0, NOBODY)).toBeCloseTo(10, 9)
  }
})

test('a neighbour never speeds a stage up, and fewer SMs never help compute', () => {
  const work = fc.record({
    computeMs: fc.double({ min: 0, max: 100, noNaN: true }),
    memoryMs: fc.double({ min: 0, max: 100, noNaN: true }),
  })
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const fraction = fc.double({ min: 0.05, max: 1, noNaN: true })
  fc.assert(
    fc.property(
      fc.constantFrom(...MODES),
      work,
      fc.record({ duty: share, bandwidth: share, compute: share }),
      fraction,
      fc.boolean(),
      (mode, of, other, sms, prefills) => {
        const { sharedMs, downstreamMs } = createCoRunning(mode, sharing)
        const beside = sharedMs(of, sms, other, prefills)
        expect(beside).toBeGreaterThanOrEqual(sharedMs(of, sms, NOBODY, prefills) - 1e-9)
        expect(downstreamMs(of, 1, other)).toBeGreaterThanOrEqual(
          downstreamMs(of, 1, NOBODY) - 1e-9,
        )
        expect(Number.isFinite(beside)).toBe(true)
      },
    ),
    { numRuns: runs(300, 10_000) },
  )
  const { downstreamMs } = createCoRunning('green-contexts', sharing)
  const compute = { computeMs: 10, memoryMs: 0 }
  expect(downstreamMs(compute, 0.6, BUSY)).toBeGreaterThan(downstreamMs(compute, 0.3, BUSY))
})

test('every parameter lies in its range and says where it comes from', () => {
  for (const gpu of Object.keys(GPUS) as (keyof typeof GPUS)[]) {
    for (const model of Object.keys(MODELS) as (keyof typeof MODELS)[]) {
      for (const [path, { value, low, high, source }] of omniParameters(gpu, model)) {
        expect(value, path).toBeGreaterThanOrEqual(low)
        expect(value, path).toBeLessThanOrEqual(high)
        expect(source.length, path).toBeGreaterThan(10)
      }
      expect(omniSpec(gpu, model).kvCapacityTokens).toBeGreaterThan(10_000)
    }
  }
})

test('overrides are checked: an unknown path, a negative value', () => {
  expect(() => omniSpec('h200', 'bagel', { 'shared.slot': 4 })).toThrow('no such parameter')
  expect(() => omniSpec('h200', 'bagel', { 'shared.slots': -1 })).toThrow('impossible value')
  expect(() => omniSpec('h100' as 'h200', 'bagel')).toThrow('unknown gpu')
  expect(omniSpec('h200', 'bagel', { 'shared.slots': 9 }).shared.slots).toBe(9)
})
