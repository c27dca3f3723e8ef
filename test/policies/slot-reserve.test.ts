import { expect, test } from 'vitest'
import { isHorizonError } from '../../src/core/index.js'
import { feasibleEdfPolicy, horizonPolicy, slotReserve } from '../../src/policies/index.js'
import { simulate } from '../../src/sim/simulate.js'
import { CLASSES, testScheduler, thrownBy } from '../support/fixture.js'
import { smallSimulation } from '../support/simulated.js'

test('impossible numbers are errors that name the field', () => {
  const wrong = [
    [{ slots: 0 }, 'slots'],
    [{ slots: 4, reserve: 4 }, 'slotReserve'],
    [{ slots: 4, shareFloor: 2 }, 'shareFloor'],
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
  const { slots } = spec.shared
  const run = (reserve: number, shareFloor: number) => {
    const policy = () =>
      feasibleEdfPolicy({ triage: { shareFloor }, slotReserve: { slots, reserve } })
    const of = { name: 'reserve', about: '', sharing: 'green-contexts', policy } as const
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

test('lost requests get their share of slot time while the rest is kept from them, and no more', () => {
  const scheduler = testScheduler(horizonPolicy({ slotReserve: { slots: 4, reserve: 3 } }), {
    estimates: { slowdownGain: 0 },
  })
  const name = CLASSES.find((of) => of.path === 'short')!.name
  for (let i = 0; i < 40; i++) scheduler.arrive({ class: name, promptTokens: 100 }, 0)
  // One lost request runs all the time: the slots that are left are the reserve.
  const first = scheduler.step(1e6).view.take()
  scheduler.admit(first)
  let rescued = 0
  const steps = 10_000
  for (let k = 1; k <= steps; k++) {
    const handle = scheduler.step(1e6 + k).view.take()
    if (handle === 0) continue
    rescued += 1
    scheduler.admit(handle)
    scheduler.progress(handle, 100, 1)
    scheduler.cancel(handle)
  }
  // 5 % of four slots, a request holding one for 200 steps: one every 1,000 steps.
  expect(rescued).toBe(steps / 1000)
})

test('without triage there is nobody to keep slots from', () => {
  expect(thrownBy(() => horizonPolicy({ triage: false, slotReserve: { slots: 4 } }))).toMatchObject(
    { code: 'ERR_POLICIES_URGENCY' },
  )
})
