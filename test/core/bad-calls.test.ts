import { expect, test } from 'vitest'
import { checkIntegrity } from '../../src/core/integrity.js'
import type { Scheduler } from '../../src/core/scheduler.js'
import { horizonPolicy, requestProfiler } from '../../src/policies/index.js'
import { CLASSES, type ClassName, PROFILE, testScheduler, thrownBy } from '../support/fixture.js'

interface World {
  readonly scheduler: Scheduler<ClassName>
  readonly waiting: number
  readonly running: number
  readonly downstream: number
  readonly responded: number
  readonly ended: number
}

/** One request in every state, at 1,000 ms. */
function createWorld(): World {
  const scheduler = testScheduler(horizonPolicy(), { capacity: { maxRequests: 6 } })
  const arrive = (name: ClassName, id?: string): number =>
    scheduler.arrive({ class: name, promptTokens: 100, ...(id === undefined ? {} : { id }) }, 900)
  const [waiting, running, downstream, responded, ended] = [
    arrive('text', 'taken'),
    arrive('text'),
    arrive('speech'),
    arrive('text'),
    arrive('picture'),
  ]
  scheduler.step(1000, 0.5)
  for (const handle of [running, downstream, responded]) scheduler.admit(handle!)
  scheduler.enterDownstream(downstream!)
  scheduler.firstResponse(responded!, 1000)
  scheduler.cancel(ended!)
  return {
    scheduler,
    waiting: waiting!,
    running: running!,
    downstream: downstream!,
    responded: responded!,
    ended: ended!,
  }
}

/** All that a caller can see of the state. */
function observe({ scheduler, waiting, running, downstream, responded }: World): unknown {
  checkIntegrity(scheduler)
  return {
    size: scheduler.size,
    decision: { ...scheduler.decision, view: [...scheduler.decision.view] },
    metrics: scheduler.metrics(),
    pressure: scheduler.smoothedPressure(),
    cells: [...scheduler.cells],
    waits: [waiting, running, downstream, responded].map((h) => scheduler.isWaiting(h)),
    words: [waiting, running, downstream, responded].map((h) => scheduler.explain(h)),
    id: scheduler.handleOf('taken'),
    newId: scheduler.handleOf('new'),
    slowdown: [...scheduler.estimates.slowdown],
  }
}

const text = { class: 'text', id: 'new' } as const
const BAD: readonly (readonly [string, (world: World) => unknown, string, string | undefined])[] = [
  [
    'an unknown class',
    ({ scheduler }) => scheduler.arrive({ class: 'nope' as 'text' }, 1000),
    'ERR_CORE_CLASS',
    'class',
  ],
  [
    'a class of the prototype',
    ({ scheduler }) => scheduler.arrive({ class: 'constructor' as 'text' }, 1000),
    'ERR_CORE_CLASS',
    'class',
  ],
  [
    'negative tokens',
    ({ scheduler }) => scheduler.arrive({ ...text, promptTokens: -1 }, 1000),
    'ERR_CORE_INPUT',
    'promptTokens',
  ],
  [
    'tokens that are no number',
    ({ scheduler }) => scheduler.arrive({ ...text, promptTokens: Number.NaN }, 1000),
    'ERR_CORE_INPUT',
    'promptTokens',
  ],
  [
    'more tokens than 32 bits hold',
    ({ scheduler }) => scheduler.arrive({ ...text, promptTokens: 2 ** 31 }, 1000),
    'ERR_CORE_INPUT',
    'promptTokens',
  ],
  [
    'negative audio',
    ({ scheduler }) => scheduler.arrive({ ...text, audioSeconds: -1 }, 1000),
    'ERR_CORE_INPUT',
    'audioSeconds',
  ],
  [
    'endless audio',
    ({ scheduler }) => scheduler.arrive({ ...text, audioSeconds: Number.POSITIVE_INFINITY }, 1000),
    'ERR_CORE_INPUT',
    'audioSeconds',
  ],
  [
    'negative images',
    ({ scheduler }) => scheduler.arrive({ ...text, images: -2 }, 1000),
    'ERR_CORE_INPUT',
    'images',
  ],
  [
    'videos that are no number',
    ({ scheduler }) => scheduler.arrive({ ...text, videos: Number.NaN }, 1000),
    'ERR_CORE_INPUT',
    'videos',
  ],
  [
    'an SLO of 0',
    ({ scheduler }) => scheduler.arrive({ ...text, sloMs: 0 }, 1000),
    'ERR_CORE_INPUT',
    'sloMs',
  ],
  [
    'an endless SLO',
    ({ scheduler }) => scheduler.arrive({ ...text, sloMs: Number.POSITIVE_INFINITY }, 1000),
    'ERR_CORE_INPUT',
    'sloMs',
  ],
  [
    'an id in use',
    ({ scheduler }) => scheduler.arrive({ ...text, id: 'taken' }, 1000),
    'ERR_CORE_DUPLICATE_ID',
    'id',
  ],
  [
    'an arrival at no time',
    ({ scheduler }) => scheduler.arrive(text, Number.NaN),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'an arrival before time began',
    ({ scheduler }) => scheduler.arrive(text, -1),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'an arrival at the end of time',
    ({ scheduler }) => scheduler.arrive(text, Number.POSITIVE_INFINITY),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'an arrival in the past',
    ({ scheduler }) => scheduler.arrive(text, 999),
    'ERR_CORE_CLOCK_BACK',
    'nowMs',
  ],
  ['a step at no time', ({ scheduler }) => scheduler.step(Number.NaN), 'ERR_CORE_TIME', 'nowMs'],
  ['a step before time began', ({ scheduler }) => scheduler.step(-0.5), 'ERR_CORE_TIME', 'nowMs'],
  [
    'a step in the past',
    ({ scheduler }) => scheduler.step(999.999, 0.1, true),
    'ERR_CORE_CLOCK_BACK',
    'nowMs',
  ],
  [
    'pressure above 1',
    ({ scheduler }) => scheduler.step(1000, 1.01),
    'ERR_CORE_PRESSURE',
    'pressure',
  ],
  [
    'pressure below 0',
    ({ scheduler }) => scheduler.step(1000, -0.01),
    'ERR_CORE_PRESSURE',
    'pressure',
  ],
  [
    'pressure that is no number',
    ({ scheduler }) => scheduler.step(1000, Number.NaN),
    'ERR_CORE_PRESSURE',
    'pressure',
  ],
  [
    'a reading out of range',
    ({ scheduler }) => scheduler.step(1000, { value: 2, timestampMs: 1000 }),
    'ERR_CORE_PRESSURE',
    'pressure',
  ],
  [
    'a reading at no time',
    ({ scheduler }) => scheduler.step(1000, { value: 0.5, timestampMs: Number.NaN }),
    'ERR_CORE_PRESSURE',
    'pressure.timestampMs',
  ],
  [
    'a reading at the end of time',
    ({ scheduler }) => scheduler.step(1000, { value: 0.5, timestampMs: Number.POSITIVE_INFINITY }),
    'ERR_CORE_PRESSURE',
    'pressure.timestampMs',
  ],
  [
    'admitting what runs',
    ({ scheduler, running }) => scheduler.admit(running),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'admitting what is downstream',
    ({ scheduler, downstream }) => scheduler.admit(downstream),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'progress of what waits',
    ({ scheduler, waiting }) => scheduler.progress(waiting, 1, 0),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'progress that is no number',
    ({ scheduler, running }) => scheduler.progress(running, Number.NaN, 0),
    'ERR_CORE_INPUT',
    'prefillTokensDone',
  ],
  [
    'negative progress',
    ({ scheduler, running }) => scheduler.progress(running, 1, -1),
    'ERR_CORE_INPUT',
    'decodeTokensDone',
  ],
  [
    'endless progress',
    ({ scheduler, running }) => scheduler.progress(running, 2 ** 32, 0),
    'ERR_CORE_INPUT',
    'prefillTokensDone',
  ],
  [
    'preempting what waits',
    ({ scheduler, waiting }) => scheduler.preempt(waiting),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'preempting what is downstream',
    ({ scheduler, downstream }) => scheduler.preempt(downstream),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'pinning what runs',
    ({ scheduler, running }) => scheduler.pin(running),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'downstream for what waits',
    ({ scheduler, waiting }) => scheduler.enterDownstream(waiting),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'downstream for a short path',
    ({ scheduler, running }) => scheduler.enterDownstream(running),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'downstream twice',
    ({ scheduler, downstream }) => scheduler.enterDownstream(downstream),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'a response from what waits',
    ({ scheduler, waiting }) => scheduler.firstResponse(waiting, 1000),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'a second first response',
    ({ scheduler, responded }) => scheduler.firstResponse(responded, 1000),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'a response before the arrival',
    ({ scheduler, running }) => scheduler.firstResponse(running, 899),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'a response at no time',
    ({ scheduler, running }) => scheduler.firstResponse(running, Number.NaN),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'a response at the end of time',
    ({ scheduler, running }) => scheduler.firstResponse(running, Number.POSITIVE_INFINITY),
    'ERR_CORE_TIME',
    'nowMs',
  ],
  [
    'finishing without a response',
    ({ scheduler, running }) => scheduler.finish(running),
    'ERR_CORE_TRANSITION',
    undefined,
  ],
  [
    'a slowdown below 1',
    ({ scheduler }) => scheduler.setSlowdown('text', 0.5),
    'ERR_CORE_INPUT',
    'slowdown.text',
  ],
  [
    'an endless slowdown',
    ({ scheduler }) => scheduler.setSlowdown('text', Number.POSITIVE_INFINITY),
    'ERR_CORE_INPUT',
    'slowdown.text',
  ],
  [
    'a slowdown of an unknown class',
    ({ scheduler }) => scheduler.setSlowdown('nope' as 'text', 2),
    'ERR_CORE_INPUT',
    'slowdown.nope',
  ],
]

test.each(BAD)('%s is refused and changes nothing', (_name, call, code, field) => {
  const world = createWorld()
  const before = observe(world)
  expect(thrownBy(() => call(world))).toEqual({ code, field })
  expect(observe(world)).toEqual(before)
})

const HANDLE_CALLS: readonly (readonly [
  string,
  (s: Scheduler<ClassName>, h: number) => unknown,
])[] = [
  ['admit', (s, h) => s.admit(h)],
  ['progress', (s, h) => s.progress(h, 1, 1)],
  ['preempt', (s, h) => s.preempt(h)],
  ['pin', (s, h) => s.pin(h)],
  ['enterDownstream', (s, h) => s.enterDownstream(h)],
  ['firstResponse', (s, h) => s.firstResponse(h, 1000)],
  ['finish', (s, h) => s.finish(h)],
  ['cancel', (s, h) => s.cancel(h)],
  ['isVisible', (s, h) => s.isVisible(h)],
  ['isWaiting', (s, h) => s.isWaiting(h)],
  ['isScheduled', (s, h) => s.isScheduled(h)],
  ['explain', (s, h) => s.explain(h)],
]

test.each(HANDLE_CALLS)('%s refuses a handle that is not of a live request', (_name, call) => {
  const world = createWorld()
  const before = observe(world)
  const never = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40, 0x7fffffff]
  for (const handle of [world.ended, ...never]) {
    expect(world.scheduler.has(handle)).toBe(false)
    expect(thrownBy(() => call(world.scheduler, handle))).toEqual({
      code: 'ERR_CORE_STALE_HANDLE',
      field: 'handle',
    })
  }
  expect(observe(world)).toEqual(before)
})

test.each(HANDLE_CALLS)(
  '%s refuses a stale handle also when its slot is in use again',
  (_name, call) => {
    const scheduler = testScheduler(horizonPolicy(), { capacity: { maxRequests: 1 } })
    const first = scheduler.arrive({ class: 'text' }, 1000)
    scheduler.cancel(first)
    const second = scheduler.arrive({ class: 'text' }, 1000)
    expect(scheduler.table.slotOf(second)).toBe(0)
    expect(second).not.toBe(first)
    expect(thrownBy(() => call(scheduler, first)).code).toBe('ERR_CORE_STALE_HANDLE')
    expect(scheduler.has(second)).toBe(true)
    expect(scheduler.isWaiting(second)).toBe(true)
    checkIntegrity(scheduler)
  },
)

test('a full table refuses an arrival, leaves the clock where it was, and has room again after an end', () => {
  const world = createWorld()
  const { scheduler, waiting } = world
  scheduler.arrive({ class: 'text' }, 1000)
  scheduler.arrive({ class: 'text' }, 1000)
  const before = observe(world)
  const full = { code: 'ERR_CORE_FULL', field: 'capacity.maxRequests' }
  expect(thrownBy(() => scheduler.arrive(text, 5000))).toEqual(full)
  expect(thrownBy(() => scheduler.arrive({ ...text, sloMs: 77 }, 5000))).toEqual(full)
  expect(observe(world)).toEqual(before)
  // The refused arrival at 5,000 ms did not move the clock.
  expect(scheduler.step(1001).step).toBe(1)
  scheduler.cancel(waiting)
  expect(scheduler.arrive(text, 1002)).toBeGreaterThan(0)
})

test('arriveNow answers 0 when the table is full', () => {
  const scheduler = testScheduler(horizonPolicy(), { capacity: { maxRequests: 1 } })
  expect(scheduler.arriveNow(0)).toBeGreaterThan(0)
  expect(scheduler.arriveNow(0)).toBe(0)
  expect(scheduler.size).toBe(1)
  checkIntegrity(scheduler)
})

test('a profiler that answers with no time is refused and changes nothing', () => {
  const scheduler = testScheduler(horizonPolicy(), {
    profiler: {
      ...requestProfiler(PROFILE),
      annotate: (_class, inputs, out) => out.fill(inputs[0] === 13 ? Number.NaN : 10),
    },
  })
  scheduler.arrive({ class: 'text', promptTokens: 1 }, 1000)
  const bad = { class: 'text', promptTokens: 13 } as const
  expect(thrownBy(() => scheduler.arrive(bad, 2000))).toEqual({
    code: 'ERR_CORE_PROFILER',
    field: 'profile.text',
  })
  expect(scheduler.size).toBe(1)
  expect(scheduler.metrics().classes.text.arrived).toBe(1)
  expect(scheduler.step(1001).waiting).toBe(1)
  checkIntegrity(scheduler)
})

test('inputs beyond all measure do not poison the estimates', () => {
  const scheduler = testScheduler(horizonPolicy(), {
    profiler: requestProfiler(
      CLASSES.map(({ name }) => ({
        name,
        profile: {
          shared: { audioSeconds: [[1, 10]] },
          downstream: { audioSeconds: [[1, 1000]] },
        },
      })),
    ),
  })
  const huge = { class: 'speech', audioSeconds: Number.MAX_VALUE } as const
  const handles = [1, 2, 3].map(() => scheduler.arrive(huge, 0))
  for (const handle of handles) scheduler.admit(handle)
  expect(scheduler.estimates.waitMs[2]).toBeLessThan(Number.POSITIVE_INFINITY)
  for (const handle of handles) scheduler.cancel(handle)
  expect([...scheduler.estimates.waitMs]).toEqual([0, 0, 0, 0])
})

test('a late report about a preempted request is ignored: its slot is gone', () => {
  const scheduler = testScheduler()
  const handle = scheduler.arrive({ class: 'text', promptTokens: 100 }, 0)
  scheduler.step(1)
  scheduler.admit(handle)
  scheduler.progress(handle, 60, 0)
  scheduler.preempt(handle)
  scheduler.progress(handle, 100, 3)
  scheduler.step(2)
  scheduler.admit(handle)
  scheduler.progress(handle, 10, 0)
  expect(scheduler.explain(handle)).toContain('in prefill, 10 of 100 tokens')
  checkIntegrity(scheduler)
})
