import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  advance,
  NEXT_STATES,
  requireNext,
  SETTLED,
  type Variant,
  type VariantState,
} from '../../src/deploy/loop/variant.js'

const spec = {
  id: 'v',
  title: 'v',
  finding: { id: 'f', rule: 'r', why: 'w' },
  bottleneck: 'b',
  target: 'rate',
  gpus: 1,
  against: 'reference',
  parts: [],
  source: 'agent',
  expectedGain: null,
} as const

const STATES = Object.keys(NEXT_STATES) as VariantState[]

describe('the life of a variant', () => {
  it('walks from proposal to acceptance through verification', () => {
    const proposed: Variant<'proposed'> = { spec, state: 'proposed' }
    const accepted = advance(
      advance(advance(advance(proposed, 'implementing'), 'verifying'), 'measuring'),
      'accepted',
    )
    expect(accepted.state).toBe('accepted')
  })

  it('does not compile, and does not run, past a verification that was not passed', () => {
    const implementing: Variant<'implementing'> = { spec, state: 'implementing' }
    // @ts-expect-error nothing is timed before it is equal
    expect(() => advance(implementing, 'measuring')).toThrow(/illegal transition/)
    // @ts-expect-error nothing is accepted unmeasured
    expect(() => advance(implementing, 'accepted')).toThrow(/illegal transition/)
    const failed: Variant<'failed-verification'> = { spec, state: 'failed-verification' }
    // @ts-expect-error a failed one is implemented again first
    expect(() => advance(failed, 'measuring')).toThrow(/illegal transition/)
    const accepted: Variant<'accepted'> = { spec, state: 'accepted' }
    // @ts-expect-error settled is settled
    expect(() => advance(accepted, 'withdrawn')).toThrow(/illegal transition/)
  })

  it('reaches acceptance on no path that avoids verifying and measuring', () => {
    const walk = fc.array(fc.constantFrom(...STATES), { maxLength: 30 })
    fc.assert(
      fc.property(walk, (wanted) => {
        let state: VariantState = 'proposed'
        const visited: VariantState[] = [state]
        for (const to of wanted) {
          try {
            requireNext('v', state, to)
          } catch {
            continue
          }
          state = to
          visited.push(to)
        }
        if (state !== 'accepted') return
        expect(visited.slice(-3)).toEqual(['verifying', 'measuring', 'accepted'])
      }),
      { numRuns: 5000 },
    )
  })

  it('has no way out of a settled state', () => {
    for (const state of SETTLED) expect(NEXT_STATES[state]).toEqual([])
  })
})
