import { describe, expect, test } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import { checkIntegrity } from '../../src/core/integrity.js'
import type { Actuator, Policy, ViewFilter } from '../../src/core/ports.js'
import type { Scheduler } from '../../src/core/scheduler.js'
import { horizonPolicy, longPathCap, slotReserve } from '../../src/policies/index.js'
import { createRng } from '../../src/sim/rng.js'
import { type ClassName, testScheduler, thrownBy } from '../support/fixture.js'
import { runs } from '../support/runs.js'

const WRONG: readonly unknown[] = [
  '400',
  400n,
  '',
  null,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -1,
  -0,
  0.5,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  1e300,
  true,
  [],
  [5],
  {},
  { value: '0.5', timestampMs: 1 },
  { value: 0.5, timestampMs: 3n },
  () => 5,
  Symbol('x'),
  new Date(0),
  { valueOf: () => 7 },
  'text',
  '__proto__',
  undefined,
]

/** All that a caller can see, beside what time alone changes. */
function observe(scheduler: Scheduler<ClassName>): string {
  return JSON.stringify([
    scheduler.size,
    { ...scheduler.decision, view: undefined },
    scheduler.metrics(),
    scheduler.cells[0],
    [...scheduler.estimates.slowdown],
  ])
}

test('calls with wrong types: a code or a right meaning, nothing changed, and the books balance', () => {
  const calls = runs(40_000, 4_000_000)
  const rng = createRng(16)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(rng.next() * from.length)] as T
  let scheduler = testScheduler(horizonPolicy(), { capacity: { maxRequests: 200 } })
  let live: number[] = []
  let now = 0
  let refused = 0
  for (let n = 0; n < calls; n++) {
    const wrong = (): never => (rng.next() < 0.5 ? pick(WRONG) : undefined) as never
    const handle = (): never => (rng.next() < 0.6 ? pick(live) : pick(WRONG)) as never
    const time = (): never => (rng.next() < 0.7 ? now : pick(WRONG)) as never
    const before = n % 64 === 0 ? observe(scheduler) : undefined
    const call = Math.floor(rng.next() * 16)
    try {
      if (call <= 3) {
        const request = {
          class: rng.next() < 0.8 ? pick(['text', 'speech', 'picture']) : pick(WRONG),
          promptTokens: rng.next() < 0.5 ? 50 : wrong(),
          audioSeconds: wrong(),
          images: wrong(),
          videos: wrong(),
          sloMs: wrong(),
          id: wrong(),
        }
        live.push(scheduler.arrive((rng.next() < 0.05 ? pick(WRONG) : request) as never, time()))
      } else if (call === 4) {
        scheduler.step(time(), wrong(), wrong())
      } else if (call === 5) scheduler.admit(handle())
      else if (call === 6) scheduler.progress(handle(), wrong() ?? 50, wrong() ?? 0)
      else if (call === 7) scheduler.preempt(handle())
      else if (call === 8) scheduler.pin(handle())
      else if (call === 9) scheduler.enterDownstream(handle())
      else if (call === 10) scheduler.firstResponse(handle(), time())
      else if (call === 11) scheduler.finish(handle())
      else if (call === 12) scheduler.cancel(handle())
      else if (call === 13) scheduler.setSlowdown(wrong() ?? 'text', wrong() ?? 1.5)
      else if (call === 14) scheduler.outlook(wrong() ?? 'text', wrong())
      else {
        scheduler.has(handle())
        scheduler.isVisible(handle())
        scheduler.explain(handle())
      }
    } catch (error) {
      if (!isHorizonError(error)) throw error
      refused += 1
      if (before !== undefined) expect(observe(scheduler)).toBe(before)
    }
    // A huge but possible time ends a history: every later one would go back.
    now = Math.max(now, scheduler.cells[0] as number) + 1
    if (n % 1000 === 999) checkIntegrity(scheduler)
    if (now > 1e6 || n % 5000 === 4999) {
      checkIntegrity(scheduler)
      scheduler = testScheduler(horizonPolicy(), { capacity: { maxRequests: 200 } })
      live = []
      now = 0
    } else if (live.length > 400) live = live.filter((of) => scheduler.has(of))
  }
  expect(refused).toBeGreaterThan(calls / 4)
})

test('a string is no number of milliseconds, and a big integer leaves no row behind', () => {
  const scheduler = testScheduler()
  for (const sloMs of ['400', 400n] as unknown as number[]) {
    expect(thrownBy(() => scheduler.arrive({ class: 'text', sloMs }, 1000))).toEqual({
      code: 'ERR_CORE_INPUT',
      field: 'sloMs',
    })
  }
  expect(scheduler.size).toBe(0)
  checkIntegrity(scheduler)
})

test('counts beyond the row limit are refused, not folded over', () => {
  for (const count of [2 ** 32, 2 ** 31, 2 ** 24 + 1, '8', Number.NaN]) {
    expect(thrownBy(() => slotReserve({ slots: count as number })).code).toBe(
      'ERR_POLICIES_SLOT_RESERVE',
    )
    expect(thrownBy(() => longPathCap({ cap: count as number })).code).toBe(
      'ERR_POLICIES_LONG_PATH_CAP',
    )
  }
})

describe('parts of the user that answer nonsense', () => {
  const policyWith = (more: Partial<Policy>): Policy => ({ ...horizonPolicy(), ...more })
  const capOf = (answer: unknown): Policy =>
    policyWith({
      cap: () => ({ name: 'mine', cap: () => answer as number, smoothed: () => Number.NaN }),
    })
  const filterOf = (filter: ViewFilter['filter']): Policy =>
    policyWith({ filters: () => [{ name: 'mine', filter }] })

  function failing(policy: Policy, code: string): void {
    const scheduler = testScheduler(policy)
    scheduler.arrive({ class: 'text' }, 1)
    const before = observe(scheduler)
    let message = ''
    try {
      scheduler.step(1)
    } catch (error) {
      if (!isHorizonError(error)) throw error
      expect(error.code).toBe(code)
      message = error.message
    }
    expect(message).toContain('mine')
    expect(observe(scheduler)).toBe(before)
    checkIntegrity(scheduler)
  }

  test.each([99, Number.NaN, -1, 0.5, '1', undefined, null])('a cap of %s', (answer) => {
    failing(capOf(answer), 'ERR_CORE_CAP')
  })

  test.each<[string, ViewFilter['filter']]>([
    ['a limit that is no number', (_, groups) => groups.limit(1, 0, Number.NaN)],
    ['a negative limit', (_, groups) => groups.limit(1, 0, -3)],
    ['a limit beyond 32 bits', (_, groups) => groups.limit(1, 0, 2 ** 32)],
    ['a limit that is a string', (_, groups) => groups.limit(1, 0, '3' as never)],
    ['a limit that is a big integer', (_, groups) => groups.limit(1, 0, 3n as never)],
    ['a path that is none', (_, groups) => groups.hide(2, false)],
    ['a status that is none', (_, groups) => groups.exempt(0, 7 as never)],
    ['a class that is none', (_, groups) => groups.hideClass(99, 0)],
    [
      'a phase that is none',
      (_, groups) => {
        groups.phase = 7
      },
    ],
    [
      'a throw',
      () => {
        throw new TypeError('oops')
      },
    ],
  ])('a filter: %s', (_name, filter) => {
    failing(filterOf(filter), 'ERR_CORE_FILTER')
  })

  test('a step that failed leaves the verdict of the one before in force', () => {
    let fails = false
    const scheduler = testScheduler(
      filterOf((_, groups) => {
        groups.limit(0, 0, fails ? 0 : 1)
        if (fails) throw new Error('later')
      }),
    )
    const [first, second] = [1, 2].map((t) => scheduler.arrive({ class: 'text' }, t)) as number[]
    scheduler.step(3)
    fails = true
    expect(() => scheduler.step(4)).toThrow('mine')
    expect([scheduler.isVisible(first!), scheduler.isVisible(second!)]).toEqual([true, false])
    expect(scheduler.decision.step).toBe(0)
    fails = false
    expect(scheduler.step(5).step).toBe(1)
  })

  test.each(['1', Number.NaN, 1n, undefined])('an order with the key %s', (key) => {
    const order = { name: 'mine', kind: 'key', key: () => key as number } as const
    const scheduler = testScheduler(policyWith({ order }))
    expect(thrownBy(() => scheduler.arrive({ class: 'text' }, 1)).code).toBe('ERR_CORE_ORDER')
    expect([scheduler.size, scheduler.cells[0]]).toEqual([0, 0])
    checkIntegrity(scheduler)
  })

  test('a profiler that throws is named by class', () => {
    const scheduler = testScheduler(horizonPolicy(), {
      profiler: {
        annotate() {
          throw new TypeError('no profile')
        },
        remaining: () => 0,
      },
    })
    expect(thrownBy(() => scheduler.arrive({ class: 'text' }, 1))).toEqual({
      code: 'ERR_CORE_PROFILER',
      field: 'profile.text',
    })
  })

  test('an actuator that throws stops no step, is told, and nothing is reported as applied', () => {
    let fails = true
    const applied: number[] = []
    const actuator: Actuator = {
      name: 'mine',
      apply(level) {
        if (fails) throw new Error('no permission')
        applied.push(level)
      },
      readBack: () => (fails ? 99 : (applied.at(-1) ?? -1)),
    }
    const scheduler = testScheduler(horizonPolicy(), { actuator })
    const told: string[] = []
    scheduler.events.on('actuatorError', (error) => told.push(error.code))
    expect([scheduler.step(1).level, scheduler.decision.changed]).toEqual([-1, false])
    expect(scheduler.step(2).step).toBe(1)
    expect(new Set(told)).toEqual(new Set(['ERR_CORE_ACTUATOR']))
    fails = false
    expect(scheduler.step(3).level).toBe(applied.at(-1))
    expect(scheduler.decision.capSms).toBeGreaterThan(0)
  })

  test('a pressure source that throws or brings strings has no reading', () => {
    for (const sample of [
      () => {
        throw new Error('gone')
      },
      (out: { value: unknown; timestampMs: number }) => {
        out.value = 1n
        out.timestampMs = 1
        return true
      },
    ]) {
      const scheduler = testScheduler(horizonPolicy(), {
        pressureSource: { name: 'mine', sample: sample as never },
      })
      scheduler.step(1)
      expect(scheduler.smoothedPressure()).toBeNaN()
    }
  })
})

test('listeners learn class and id, also of a request that just ended', () => {
  const scheduler = testScheduler()
  const heard: unknown[] = []
  scheduler.events.on('firstResponse', (_handle, _ms, _met, request) => heard.push(request))
  scheduler.events.on('end', (_handle, _finished, request) => heard.push(request))
  const handle = scheduler.arrive({ class: 'text', id: 'r1' }, 1)
  scheduler.step(1)
  scheduler.admit(handle)
  scheduler.firstResponse(handle, 2)
  scheduler.finish(handle)
  expect(heard).toEqual(Array(2).fill({ class: 'text', id: 'r1' }))
})

test('the error of a listener that nobody listens for is a warning of the process, once', async () => {
  const warned: string[] = []
  const note = (warning: Error) => warned.push(warning.message)
  process.on('warning', note)
  const scheduler = testScheduler()
  scheduler.events.on('decision', () => {
    throw new Error('in a listener')
  })
  scheduler.step(1)
  scheduler.step(2)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  expect(warned.filter((text) => text.includes('in a listener')).length).toBe(1)
})

test('explain speaks before the first step', () => {
  const scheduler = testScheduler()
  const handle = scheduler.arrive({ class: 'text' }, 1)
  expect(scheduler.explain(handle)).toContain('no step yet')
})
