/** Policies and their parts: what they refuse, what they compose, and the profiler's curves. */
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config.js'
import { INPUT, WORK } from '../../src/core/ports.js'
import { LONG, SHORT } from '../../src/core/request-class.js'
import { ORDINARY, PROTECTED } from '../../src/core/request-table.js'
import {
  edfPolicy,
  feasibleEdfPolicy,
  fixedCap,
  horizonPolicy,
  literalPolicy,
  longPathCap,
  placesPolicy,
  requestProfiler,
  type StageProfile,
  smThrottle,
  strictPriorityPolicy,
  triage,
  vanillaPolicy,
} from '../../src/policies/index.js'
import { testScheduler, thrownBy } from '../support/fixture.js'

function shared(
  profile: StageProfile,
  inputs: Partial<Record<keyof typeof INPUT, number>>,
): number {
  const cells = new Float64Array(4)
  for (const [name, value] of Object.entries(inputs))
    cells[INPUT[name as keyof typeof INPUT]] = value
  const out = new Float64Array(3)
  requestProfiler([{ name: 'c', profile }]).annotate(0, cells, out)
  return out[WORK.shared]!
}

test('a curve is linear between its points and beyond the last, flat below the first, and one point is proportional', () => {
  const curve: StageProfile = {
    shared: {
      fixedMs: 5,
      promptTokens: [
        [100, 10],
        [200, 30],
        [300, 40],
      ],
    },
  }
  const at = (promptTokens: number): number => shared(curve, { promptTokens })
  expect([0, 50, 100, 150, 200, 250, 300, 400].map(at)).toEqual([5, 15, 15, 25, 35, 40, 45, 55])
  expect(
    shared(
      { shared: { images: [[1, 7]], audioSeconds: [[2, 3]] } },
      { images: 3, audioSeconds: 4 },
    ),
  ).toBe(27)
  expect(shared({ shared: {}, decodeTokens: 20, decodeMsPerToken: 2 }, {})).toBe(40)
})

test('downstream busy time is the downstream time unless it is given', () => {
  const out = new Float64Array(3)
  const profiler = requestProfiler([
    { name: 'a', profile: { shared: {}, downstream: { fixedMs: 9 } } },
    {
      name: 'b',
      profile: { shared: {}, downstream: { fixedMs: 9 }, downstreamBusy: { fixedMs: 20 } },
    },
  ])
  profiler.annotate(0, new Float64Array(4), out)
  expect([...out]).toEqual([0, 9, 9])
  profiler.annotate(1, new Float64Array(4), out)
  expect([...out]).toEqual([0, 9, 20])
  expect([
    profiler.remaining(100, 200, 50, 0),
    profiler.remaining(100, 0, 0, 0),
    profiler.remaining(100, 10, 99, 0),
  ]).toEqual([75, 100, 0])
})

test('presets say what they are', () => {
  expect(horizonPolicy().urgency).toEqual({ uGuard: 2, uLost: 1, downstreamWait: true })
  expect(literalPolicy().urgency).toEqual({ uGuard: 2, uLost: 0, downstreamWait: false })
  expect([horizonPolicy(), literalPolicy()].map((p) => p.workConserving)).toEqual([true, false])
  expect(
    feasibleEdfPolicy()
      .filters()
      .map(({ name }) => name),
  ).toEqual(['long-path-cap', 'triage'])
  expect(
    horizonPolicy({ rotation: false, longPathCap: false, triage: false, uGuard: 0 }).filters(),
  ).toEqual([])
  expect(
    [vanillaPolicy(), edfPolicy(), strictPriorityPolicy()].map((p) => [
      p.filters().length,
      p.order.kind,
    ]),
  ).toEqual([
    [0, 'arrival'],
    [0, 'deadline'],
    [0, 'key'],
  ])
})

test.each([
  [() => longPathCap({ cap: 0 }), 'ERR_POLICIES_LONG_PATH_CAP'],
  [() => triage({ shareFloor: 1.5 }), 'ERR_POLICIES_TRIAGE'],
  [() => smThrottle({ gamma: 0 }), 'ERR_POLICIES_THROTTLE'],
  [() => smThrottle({ saturation: Number.NaN }), 'ERR_POLICIES_THROTTLE'],
  [() => smThrottle({ deltaStep: 0 }), 'ERR_POLICIES_THROTTLE'],
  [() => horizonPolicy({ uGuard: -1 }), 'ERR_POLICIES_URGENCY'],
  [() => horizonPolicy({ uGuard: 1, triage: { uLost: 2 } }), 'ERR_POLICIES_URGENCY'],
  [() => horizonPolicy({ rotation: { m: 0 } }), 'ERR_POLICIES_ROTATION'],
  [
    () => requestProfiler([{ name: 'c', profile: { shared: { fixedMs: -1 } } }]),
    'ERR_POLICIES_PROFILE',
  ],
  [
    () => requestProfiler([{ name: 'c', profile: { shared: { images: [[0, 1]] } } }]),
    'ERR_POLICIES_PROFILE',
  ],
  [
    () =>
      requestProfiler([
        { name: 'c', profile: { shared: {}, decodeTokens: -1, decodeMsPerToken: 1 } },
      ]),
    'ERR_POLICIES_PROFILE',
  ],
  [
    () => testScheduler(horizonPolicy({ cap: () => fixedCap({ sms: 41 }) })).step(0),
    'ERR_POLICIES_FIXED_CAP',
  ],
])('impossible options are refused: %s', (make, code) => {
  expect(thrownBy(make).code).toBe(code)
})

test('what filters say has a fixed precedence: lost > exempt > limit > hide, in any order of filters', () => {
  const { groups, signals } = testScheduler()
  const say = [
    () => groups.hide(LONG, false),
    () => groups.limit(LONG, ORDINARY, 3),
    () => groups.limit(LONG, ORDINARY, 1),
    () => groups.exempt(LONG, PROTECTED),
    () => groups.demote(SHORT, 2),
    () => groups.hide(SHORT, false),
  ]
  const verdicts = [say, [...say].reverse()].map((order) => {
    groups.reset()
    for (const speak of order) speak()
    groups.resolve(signals, false)
    return [[...groups.verdict], [...groups.limits]]
  })
  expect(verdicts[0]).toEqual(verdicts[1])
  // By class: text, image-in (short), speech, picture (long); by status: ordinary, protected, lost.
  expect(verdicts[0]![0]).toEqual([0, 0, 2, 0, 0, 2, 0, 1, 0, 0, 1, 0])
  expect(verdicts[0]![1]).toEqual([-1, -1, 2, 1, -1, -1])
})

test('a phase without ordinary work of its own passes to the other path, not in the literal preset', () => {
  for (const [policy, passed] of [
    [horizonPolicy(), true],
    [literalPolicy(), false],
  ] as const) {
    const scheduler = testScheduler(policy)
    scheduler.arrive({ class: 'speech' }, 0)
    const decision = scheduler.step(1)
    expect([decision.phase, decision.passed, [...decision.view].length]).toEqual([
      'short',
      passed,
      passed ? 1 : 0,
    ])
  }
})

test('one class can be hidden, for one step, and is counted; with nothing else to run it is shown', () => {
  let hides = true
  const policy = vanillaPolicy()
  const scheduler = testScheduler({
    ...policy,
    workConserving: true,
    filters: () => [
      {
        name: 'no-pictures',
        filter: (_signals, groups) => {
          if (hides) groups.hideClass(3, ORDINARY)
        },
      },
    ],
  })
  const speech = scheduler.arrive({ class: 'speech' }, 0)
  const picture = scheduler.arrive({ class: 'picture' }, 0)
  const seen = (nowMs: number) => {
    const { view, hidden } = scheduler.step(nowMs)
    return [[...view], hidden]
  }
  expect(seen(1)).toEqual([[speech], 1])
  expect(scheduler.isVisible(picture)).toBe(false)
  hides = false
  expect(seen(2)).toEqual([[speech, picture], 0])
  hides = true
  expect(seen(3)).toEqual([[speech], 1])
  scheduler.cancel(speech)
  expect(seen(4)).toEqual([[picture], 0])
  expect(scheduler.metrics().classes.picture.hiddenRequestSteps).toBe(2)
  expect(scheduler.metrics().classes.speech.hiddenRequestSteps).toBe(0)
})

test('the places policy follows the configuration, and needs the places of both stages', () => {
  const config = {
    classes: { chat: { output: 'text', sloMs: 4000 }, speech: { output: 'audio', sloMs: 9000 } },
    profile: {
      chat: { shared: { fixedMs: 20 } },
      speech: { shared: { fixedMs: 50 }, downstream: { fixedMs: 400 } },
    },
  } as const
  const { policy } = parseConfig({ ...config, slots: 4, downstreamPlaces: 1 })
  expect(policy.name).toBe('horizonserve-places')
  expect(policy.filters().map((filter) => filter.name)).toContain('slot-reserve')
  expect(thrownBy(() => parseConfig({ ...config, downstreamPlaces: 1 })).field).toBe(
    'downstreamPlaces',
  )
  expect(thrownBy(() => placesPolicy({ slots: 4, downstreamPlaces: 0 })).code).toBe(
    'ERR_POLICIES_PLACES',
  )
})
