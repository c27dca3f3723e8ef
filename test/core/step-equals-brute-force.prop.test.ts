import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkIntegrity } from '../../src/core/integrity.js'
import type { Policy } from '../../src/core/ports.js'
import { LONG, SHORT } from '../../src/core/request-class.js'
import { CHUNK_BITS, CHUNK_MASK, LOST, ORDINARY, WAITING } from '../../src/core/request-table.js'
import { createScheduler } from '../../src/core/scheduler.js'
import {
  feasibleEdfPolicy,
  horizonPolicy,
  literalPolicy,
  requestProfiler,
  strictPriority,
} from '../../src/policies/index.js'
import { BruteForce, type BruteOptions } from '../support/brute-force.js'
import { CLASSES, PROFILE } from '../support/fixture.js'
import { runs } from '../support/runs.js'

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('arrive' as const),
      c: fc.nat(3),
      tokens: fc.nat(3000),
      slo: fc.option(fc.integer({ min: 1, max: 4000 }), { freq: 5, nil: undefined }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('step' as const),
      dtMs: fc.oneof(fc.nat(40), fc.double({ min: 0, max: 400, noNaN: true })),
      admit: fc.nat(5),
      skip: fc.nat(2),
      disturb: fc.nat(6),
      cancels: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('decode' as const), pick: fc.nat(1000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('downstream' as const), pick: fc.nat(1000) }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('handOver' as const), pick: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('respond' as const), pick: fc.nat(1000) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('end' as const), pick: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('preempt' as const), pick: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('pin' as const), pick: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('admitAny' as const), pick: fc.nat(1000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('slowdown' as const),
      c: fc.nat(3),
      factor: fc.double({ min: 1, max: 12, noNaN: true }),
    }),
  },
)

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

const BASE: BruteOptions = {
  uGuard: 2,
  uLost: 1,
  downstreamWait: true,
  m: 2,
  nMin: 2,
  nMax: 8,
  update: 'cycle',
  cap: 2,
  capCounts: 'shared-stage',
  workConserving: true,
  shareFloor: 0.05,
  order: 'arrival',
}

const EVERY_STATE = ['waiting', 'pinned', 'prefill', 'decode', 'handed over', 'downstream']

/** Hides the ordinary requests of some classes in most steps. */
const hides = (step: number, c: number): boolean => (step * 7 + c * 5) % 4 === 0 || step % 9 === c

function hidingClasses(policy: Policy): Policy {
  return {
    ...policy,
    filters: () => [
      ...policy.filters(),
      {
        name: 'hide-classes',
        filter(signals, groups) {
          for (let c = 0; c < CLASSES.length; c++)
            if (hides(signals.step, c)) groups.hideClass(c, ORDINARY)
        },
      },
    ],
  }
}

const CASES: readonly (readonly [string, Policy, BruteOptions])[] = [
  ['default', horizonPolicy(), BASE],
  [
    'literal',
    literalPolicy(),
    {
      ...BASE,
      uLost: 0,
      downstreamWait: false,
      update: 'step',
      capCounts: 'prefill',
      workConserving: false,
      shareFloor: null,
    },
  ],
  [
    'feasible-edf',
    feasibleEdfPolicy({ triage: { shareFloor: 0.2 } }),
    { ...BASE, uGuard: 0, update: 'none', shareFloor: 0.2, order: 'deadline' },
  ],
  [
    'default with slots',
    horizonPolicy({ slotReserve: { slots: 5 }, triage: { shareFloor: 1 } }),
    { ...BASE, uLost: 0.8, cap: 3, slots: 5, reserve: 2, shareFloor: 1 },
  ],
  [
    'priority order, no triage',
    horizonPolicy({ order: strictPriority, triage: false }),
    { ...BASE, uLost: 0, downstreamWait: false, shareFloor: null, order: 'class' },
  ],
  [
    'default, at most two long in flight, protected ones too',
    horizonPolicy({ longPathCap: { counts: 'in-flight', protected: 'limited' } }),
    { ...BASE, capCounts: 'in-flight', capProtected: 'limited' },
  ],
  [
    'in deadline order, protected ones limited',
    feasibleEdfPolicy({ uGuard: 2, longPathCap: { cap: 1, protected: 'limited' } }),
    { ...BASE, update: 'none', order: 'deadline', cap: 1, capProtected: 'limited' },
  ],
  [
    'literal, exempt until overdue',
    literalPolicy({ longPathCap: { counts: 'shared-stage', protected: 'until-overdue' } }),
    {
      ...BASE,
      uLost: 0,
      downstreamWait: false,
      update: 'step',
      capProtected: 'until-overdue',
      workConserving: false,
      shareFloor: null,
    },
  ],
  ['default, lost ones refused', horizonPolicy({ sheds: true }), { ...BASE, sheds: true }],
  [
    'a priority that grows with age',
    horizonPolicy({
      order: { name: 'aged', kind: 'key', key: (list) => list.priority * 100, ageing: 0.5 },
    }),
    { ...BASE, order: 'aged class' },
  ],
  ['default, classes hidden', hidingClasses(horizonPolicy()), { ...BASE, hides }],
]

function replay(
  policy: Policy,
  options: BruteOptions,
  operations: readonly Operation[],
  ownSlos = 64,
): void {
  const scheduler = createScheduler({
    classes: CLASSES,
    profiler: requestProfiler(PROFILE),
    policy,
    ladder: { totalSms: 142, levels: [40, 64, 80] },
    capacity: { ownSlos },
  })
  const shed = new Set<number>()
  scheduler.events.on('shed', (handle) => shed.add(handle))
  const brute = new BruteForce(options)
  const live: number[] = []
  const responded = new Set<number>()
  let now = 0
  const stateOf = (handle: number) => brute.find(handle).state
  const pick = (index: number, ...states: string[]): number | undefined => {
    const fitting = live.filter((handle) => states.includes(stateOf(handle)))
    return fitting.length === 0 ? undefined : fitting[index % fitting.length]
  }
  const isOrdinary = (handle: number): boolean => {
    const slot = scheduler.table.slotOf(handle)
    const chunk = scheduler.table.chunks[slot >> CHUNK_BITS]!
    return (
      chunk.state[slot & CHUNK_MASK] === WAITING &&
      (chunk.status[slot & CHUNK_MASK] === ORDINARY ||
        (options.capProtected === 'until-overdue' && chunk.status[slot & CHUNK_MASK] === LOST))
    )
  }
  const admit = (handle: number): void => {
    const ordinary = isOrdinary(handle)
    scheduler.admit(handle)
    brute.admit(handle, ordinary)
  }
  for (const operation of operations) {
    switch (operation.op) {
      case 'arrive': {
        const spec = CLASSES[operation.c]!
        const sloMs = operation.slo
        const handle = scheduler.arrive(
          {
            class: spec.name,
            promptTokens: operation.tokens,
            ...(sloMs === undefined ? {} : { sloMs }),
          },
          now,
        )
        const out = new Float64Array(3)
        scheduler.profiler.annotate(operation.c, Float64Array.of(operation.tokens, 0, 0, 0), out)
        const slot = scheduler.table.slotOf(handle)
        const chunk = scheduler.table.chunks[slot >> CHUNK_BITS]!
        // An SLO that shares a bucket is scheduled by the strict side of it, at most an eighth of an octave early.
        const heldMs = chunk.deadlineMs[slot & CHUNK_MASK]! - now
        const exactMs = sloMs ?? spec.sloMs
        expect(heldMs).toBeLessThanOrEqual(exactMs + 1e-6)
        expect(heldMs).toBeGreaterThanOrEqual((exactMs * 8) / 9 - 1e-6)
        if (ownSlos > 0) expect(heldMs).toBeCloseTo(exactMs, 6)
        brute.arrive(
          handle,
          operation.c,
          spec.path === 'long',
          chunk.deadlineMs[slot & CHUNK_MASK]!,
          out[0]! + out[1]!,
          now,
        )
        live.push(handle)
        break
      }
      case 'step': {
        now += operation.dtMs
        shed.clear()
        const decision = scheduler.step(now)
        const expected = brute.step(now, scheduler.estimates.slowdown, scheduler.estimates.waitMs)
        expect(shed).toEqual(expected.shed)
        for (const handle of shed) live.splice(live.indexOf(handle), 1)
        const waitingOf = (isLong: boolean) =>
          brute.requests.filter((r) => r.state === 'waiting' && r.isLong === isLong)
        for (const path of [SHORT, LONG]) {
          const among = waitingOf(path === LONG)
          const waits = among.map((r) => now - r.arrivalMs)
          expect(scheduler.signals.oldestWaitMs(path)).toBe(Math.max(0, ...waits))
          const lost = among.filter((r) => expected.lost.has(r.handle))
          const latest = Math.max(-Infinity, ...lost.map((r) => now - r.deadlineMs))
          expect(scheduler.signals.latenessMs(path)).toBe(latest)
        }
        expect(decision.phase).toBe(expected.phase)
        expect(decision.n).toBe(expected.n)
        expect(decision.passed).toBe(expected.passed)
        expect(decision.protected).toBe(expected.protected.size)
        expect(decision.lost).toBe(expected.lost.size)
        checkIntegrity(scheduler)
        for (const handle of live) {
          const state = stateOf(handle)
          expect(scheduler.isVisible(handle)).toBe(
            state !== 'waiting' || expected.visible.has(handle),
          )
        }
        expect([...decision.view]).toEqual(expected.view)
        // Once more, admitting some while reading: the rest must come as it would have.
        const rest = [...expected.view]
        let taken = 0
        let read = 0
        for (const handle of decision.view) {
          expect(handle).toBe(rest.shift())
          read += 1
          if (read === operation.disturb && rest.length > 1) {
            // The engine takes another one than it was given, or a client gives up, in the middle of reading.
            const [other] = rest.splice(operation.admit % rest.length, 1)
            if (operation.cancels && !responded.has(other!)) {
              scheduler.cancel(other!)
              brute.remove(other!)
              live.splice(live.indexOf(other!), 1)
            } else {
              admit(other!)
            }
            continue
          }
          if (taken >= operation.admit) continue
          taken += 1
          if (taken % (operation.skip + 1) === 0) admit(handle)
        }
        expect(rest).toEqual([])
        break
      }
      case 'decode': {
        const handle = pick(operation.pick, 'prefill')
        if (handle === undefined) break
        scheduler.progress(handle, 1_000_000, 0)
        brute.find(handle).state = 'decode'
        break
      }
      case 'downstream': {
        const handle = pick(operation.pick, 'prefill', 'decode', 'handed over')
        if (handle === undefined || !brute.find(handle).isLong) break
        scheduler.enterDownstream(handle)
        brute.find(handle).state = 'downstream'
        break
      }
      case 'handOver': {
        const handle = pick(operation.pick, 'prefill', 'decode', 'handed over')
        if (handle === undefined || !brute.find(handle).isLong) break
        scheduler.handedOver(handle)
        brute.find(handle).state = 'handed over'
        break
      }
      case 'respond': {
        const handle = pick(operation.pick, 'prefill', 'decode', 'handed over', 'downstream')
        if (handle === undefined || responded.has(handle)) break
        scheduler.firstResponse(handle, now)
        responded.add(handle)
        break
      }
      case 'end': {
        const handle = pick(operation.pick, ...EVERY_STATE)
        if (handle === undefined) break
        if (responded.has(handle)) scheduler.finish(handle)
        else scheduler.cancel(handle)
        brute.remove(handle)
        live.splice(live.indexOf(handle), 1)
        break
      }
      case 'preempt': {
        const handle = pick(operation.pick, 'prefill', 'decode')
        if (handle === undefined) break
        scheduler.preempt(handle)
        brute.pin(handle)
        break
      }
      case 'pin': {
        const handle = pick(operation.pick, 'waiting')
        if (handle === undefined) break
        scheduler.pin(handle)
        brute.pin(handle)
        break
      }
      case 'admitAny': {
        const handle = pick(operation.pick, 'waiting', 'pinned')
        if (handle !== undefined) admit(handle)
        break
      }
      case 'slowdown':
        scheduler.setSlowdown(CLASSES[operation.c]!.name, operation.factor)
        break
    }
  }
}

test.each(CASES)(
  'the step equals the obvious one, request by request: %s',
  (_name, policy, options) => {
    fc.assert(
      fc.property(
        fc.array(operation, { minLength: 1, maxLength: 120, size: 'max' }),
        (operations) => replay(policy, options, operations),
      ),
      { numRuns: runs(40, 10_000) },
    )
  },
)

test('the step equals the obvious one where SLOs of single requests share buckets', () => {
  fc.assert(
    fc.property(fc.array(operation, { minLength: 1, maxLength: 120, size: 'max' }), (operations) =>
      replay(horizonPolicy(), BASE, operations, 0),
    ),
    { numRuns: runs(40, 10_000) },
  )
})
