/**
 * The visit bound: work is a constant times what changed, whatever waits. One visit is a request tested by a cursor, a list repaired or a
 * request taken from a merge.
 *
 *     visits <= 5 x (arrivals + removals + status changes + taken + (cap + 2) per step + lists of a class per change of its estimate)
 *
 * `cap + 2`: the members of the long-path cap that a step chooses, the lost request it rescues and the first it demotes. A due list is
 * bounded by the status changes, for it is due when one of its requests crosses.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { horizonPolicy, literalPolicy } from '../../src/policies/index.js'
import { runs } from '../support/runs.js'
import { histories, ServingLoop } from '../support/serving-loop.js'

const CONSTANT = 5
const CAP = 2

test.each([
  ['default', horizonPolicy({ longPathCap: { cap: CAP } })],
  ['literal', literalPolicy({ longPathCap: { cap: CAP } })],
])('visits are bounded by what changed, whatever waits: %s', (_name, policy) => {
  let tightest = 0
  fc.assert(
    fc.property(
      histories(25, ['decode', 'downstream', 'respond', 'leave', 'preempt']),
      fc.constantFrom(0, 50, 500),
      (turns, backlog) => {
        const status = new Map<number, number>()
        const published = new Map<number, string>()
        let changes = 0
        let steps = 0
        let listsChanged = 0
        const estimatesOf = ({ scheduler }: ServingLoop, c: number): string =>
          `${scheduler.estimates.slowdown[c]} ${scheduler.estimates.waitMs[c]}`
        const loop = new ServingLoop(policy, {
          step(_decision, loop) {
            steps += 1
            for (const { handle } of loop.in('waiting')) {
              const now = loop.statusOf(handle)
              changes += Math.abs(now - (status.get(handle) ?? 0))
              status.set(handle, now)
            }
            for (let c = 0; c < 4; c++) {
              const now = estimatesOf(loop, c)
              if (published.get(c) !== now)
                listsChanged += loop.scheduler.waitingSet.lists.ofClass[c]!.length
              published.set(c, now)
            }
          },
        })
        for (let k = 0; k < backlog; k++) loop.arrive(k % 4, (k * 37) % 2000)
        loop.run(turns)
        const allowed =
          CONSTANT *
          (loop.arrivals + loop.removals + changes + loop.taken + (CAP + 2) * steps + listsChanged)
        const visits = loop.scheduler.waitingSet.visits[0]!
        tightest = Math.max(tightest, visits / allowed)
        expect(visits).toBeLessThanOrEqual(allowed)
      },
    ),
    { numRuns: runs(12, 10_000) },
  )
  // The bound is a bound and not a wish: some histories use a good part of it.
  expect(tightest).toBeGreaterThan(0.1)
})

test('a quiet step visits nothing but what is taken from it, with 10 or with 10,000 waiting', () => {
  for (const backlog of [10, 10_000]) {
    const loop = new ServingLoop(horizonPolicy(), {})
    for (let k = 0; k < backlog; k++) loop.arrive(k % 4, 500)
    const { scheduler } = loop
    scheduler.step(1)
    scheduler.decision.view.take()
    const before = scheduler.waitingSet.visits[0]!
    scheduler.step(2)
    expect(scheduler.waitingSet.visits[0]! - before).toBe(0)
    scheduler.decision.view.take()
    // One taken; in a long-path step the cap chooses its two first.
    expect(scheduler.waitingSet.visits[0]! - before).toBeLessThanOrEqual(1 + CAP)
  }
})
