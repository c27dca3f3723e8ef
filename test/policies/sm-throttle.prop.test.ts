/** Equation 1 and its hysteresis, against a transcription that shares no code with the policy. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Actuator } from '../../src/core/ports.js'
import { horizonPolicy, type SmThrottleOptions } from '../../src/policies/index.js'
import { testScheduler } from '../support/fixture.js'
import { runs } from '../support/runs.js'

interface Sample {
  readonly value: number
  readonly stampMs: number
  readonly active: boolean
}

/** Rows for a series of samples, written from the words of the paper. `lags`: the row in force is the one asked for a step before. */
function transcribe(
  samples: readonly Sample[],
  levels: readonly number[],
  aggressiveSms: number,
  options: Required<SmThrottleOptions>,
): { sms: number; pressure: number }[] {
  const smallest = levels[0]!
  const largest = levels[levels.length - 1]!
  let smoothed: number | undefined
  let newest = Number.NEGATIVE_INFINITY
  let value = 0
  let row: number | 'aggressive' | undefined
  return samples.map(({ value: raw, stampMs, active }) => {
    const isNew = stampMs > newest
    if (isNew) {
      newest = stampMs
      value = raw
    }
    if (isNew || (options.smoothing === 'per-step' && smoothed !== undefined))
      smoothed =
        smoothed === undefined ? value : options.gamma * value + (1 - options.gamma) * smoothed
    if (!active) {
      row = 'aggressive'
      return { sms: aggressiveSms, pressure: smoothed ?? Number.NaN }
    }
    const rho = Math.min(Math.max((smoothed ?? 0) / options.saturation, 0), 1)
    const target = smallest + rho * (largest - smallest)
    let wanted = 0
    for (const [k, sms] of levels.entries())
      if (Math.abs(sms - target) <= Math.abs(levels[wanted]! - target)) wanted = k
    if (row === undefined || row === 'aggressive' || Math.abs(wanted - row) >= options.deltaStep)
      row = wanted
    return { sms: levels[row]!, pressure: smoothed ?? Number.NaN }
  })
}

const world = fc.record({
  levels: fc
    .uniqueArray(fc.integer({ min: 1, max: 141 }), { minLength: 1, maxLength: 6, size: 'max' })
    .map((levels) => levels.sort((a, b) => a - b)),
  options: fc.record({
    gamma: fc.constantFrom(0.1, 0.4, 1),
    saturation: fc.constantFrom(0.5, 0.9, 1),
    deltaStep: fc.constantFrom(1, 2),
    smoothing: fc.constantFrom('per-sample' as const, 'per-step' as const),
  }),
  samples: fc.array(
    fc.record({
      value: fc.double({ min: 0, max: 1, noNaN: true }),
      dtMs: fc.nat(2),
      active: fc.oneof(
        { weight: 3, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
    }),
    { maxLength: 60, size: 'max' },
  ),
})

test('the cap is a level of the ladder while downstream is active, the aggressive row otherwise, and moves by the hysteresis rule alone', () => {
  let held = 0
  fc.assert(
    fc.property(world, fc.boolean(), ({ levels, options, samples }, actuates) => {
      let inForce = -1
      const applied: number[] = []
      const actuator: Actuator = {
        name: 'recorded',
        apply(level) {
          inForce = level
          applied.push(level)
        },
        readBack: () => inForce,
      }
      const scheduler = testScheduler(horizonPolicy({ throttle: options }), {
        ladder: { totalSms: 142, levels },
        ...(actuates ? { actuator } : {}),
      })
      let stampMs = 0
      const stamped = samples.map(({ value, dtMs, active }) => {
        stampMs += dtMs
        return { value, stampMs, active }
      })
      const expected = transcribe(stamped, levels, 142, options)
      const changes: number[] = []
      let before = -1
      for (const [k, { value, stampMs: timestampMs, active }] of stamped.entries()) {
        const decision = scheduler.step(k, { value, timestampMs }, active)
        expect(decision.capSms).toBe(expected[k]!.sms)
        expect(decision.headroomSms).toBe(142 - decision.capSms)
        expect(scheduler.smoothedPressure()).toBeCloseTo(expected[k]!.pressure, 12)
        if (active) expect(levels).toContain(decision.capSms)
        expect(decision.changed).toBe(decision.level !== before)
        if (decision.changed) changes.push(decision.level)
        else if (active) held += 1
        before = decision.level
      }
      if (actuates) expect(applied).toEqual(changes)
    }),
    { numRuns: runs(60, 10_000) },
  )
  expect(held).toBeGreaterThan(0)
})

test('with a step of 2, one row is not worth a move and two are', () => {
  const scheduler = testScheduler(
    horizonPolicy({ throttle: { gamma: 1, saturation: 1, deltaStep: 2 } }),
    {
      ladder: { totalSms: 100, levels: [20, 30, 40, 50] },
    },
  )
  const capAt = (k: number, value: number): number => scheduler.step(k, value, true).capSms
  expect([0, 0.34, 0.67, 0.34, 1, 0.67].map((value, k) => capAt(k, value))).toEqual([
    20, 20, 40, 40, 40, 40,
  ])
})

test('more pressure gives the shared stage more, never the whole GPU; idle downstream gives it all', () => {
  const scheduler = testScheduler(horizonPolicy({ throttle: { gamma: 1, saturation: 0.8 } }))
  const caps = [0, 0.4, 0.8, 1].map((value, k) => scheduler.step(k, value, true).capSms)
  expect(caps).toEqual([40, 64, 80, 80])
  expect(scheduler.step(9, 1, false).capSms).toBe(142)
})
