import { describe, expect, it } from 'vitest'
import { createRollout, TURN_MS } from '../../src/controller/rollout.js'

/** Of a hundred moments of a turn, those under the policy. */
function underPolicy(share: number): number {
  const rollout = createRollout(share)
  let under = 0
  for (let i = 0; i < 100; i++) if (!rollout.isObserving((i * TURN_MS) / 100)) under += 1
  return under
}

describe('a rollout', () => {
  it.each([0, 1, 25, 50, 99, 100])(
    'keeps the policy in force for %d percent of a turn',
    (percent) => {
      expect(underPolicy(percent / 100)).toBe(percent)
    },
  )

  it('remembers what was in force when a request arrived', () => {
    const rollout = createRollout(0.5)
    for (let at = 0; at < 4 * TURN_MS; at += 100) rollout.isObserving(at)
    expect(rollout.wasObserving(0.25 * TURN_MS)).toBe(false)
    expect(rollout.wasObserving(0.75 * TURN_MS)).toBe(true)
    expect(rollout.wasObserving(2.25 * TURN_MS)).toBe(false)
    expect(rollout.wasObserving(3.75 * TURN_MS)).toBe(true)
  })

  it('changes at once, and forgets no change that a request may still ask for', () => {
    const rollout = createRollout(1)
    expect(rollout.isObserving(1)).toBe(false)
    rollout.share = 0
    expect(rollout.isObserving(2)).toBe(true)
    rollout.share = 1
    expect(rollout.isObserving(3)).toBe(false)
    expect([1.5, 2.5, 3.5].map((at) => rollout.wasObserving(at))).toEqual([false, true, false])
  })
})
