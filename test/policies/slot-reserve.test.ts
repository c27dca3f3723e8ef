import { expect, test } from 'vitest'
import { isHorizonError } from '../../src/core/index.js'
import { feasibleEdfPolicy, slotReserve } from '../../src/policies/index.js'
import { simulate } from '../../src/sim/simulate.js'
import { smallSimulation } from '../support/simulated.js'

test('impossible numbers are errors that name the field', () => {
  const wrong = [
    [{ slots: 0 }, 'slots'],
    [{ slots: 4, reserve: 4 }, 'reserve'],
    [{ slots: 4, shareFloor: 2 }, 'shareFloor'],
    [{ slots: 4, holdSteps: 0 }, 'holdSteps'],
  ] as const
  for (const [options, field] of wrong) {
    try {
      slotReserve(options)
      expect.unreachable(field)
    } catch (error) {
      expect(isHorizonError(error) && error.code).toBe('ERR_POLICIES_SLOT_RESERVE')
      expect(String(error)).toContain(field)
    }
  }
})

test('under overload a reserve lets more short requests be on time, and nothing is left behind', () => {
  const { spec, workload, calibration } = smallSimulation({ rate: 1.2, requests: 400 })
  const base = feasibleEdfPolicy({ triage: { shareFloor: 0 } })
  const run = (reserve: number, shareFloor: number) => {
    const filters = () => [
      ...base.filters(),
      slotReserve({ slots: spec.shared.slots, reserve, shareFloor }),
    ]
    const of = {
      name: 'reserve',
      about: '',
      sharing: 'green-contexts',
      policy: () => ({ ...base, filters }),
    } as const
    return simulate({ runtime: spec, workload, policy: of, calibration }).summary
  }
  const without = run(0, 0)
  const reserved = run(2, 0)
  const floored = run(2, 0.2)
  for (const of of [without, reserved, floored]) expect(of.all.completed).toBe(400)
  expect(reserved.short.met).toBeGreaterThan(without.short.met)
  // The floor is paid for in requests on time.
  expect(floored.short.met).toBeLessThanOrEqual(reserved.short.met)
})
