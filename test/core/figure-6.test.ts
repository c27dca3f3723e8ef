/**
 * The paper's figure 6, "Shared-stage path rotation": in a short-path phase, ordinary long-path prefills are hidden for one step, short
 * prefills, decodes and an urgent long-path request are visible, and what was hidden stands in its old place afterwards.
 */

import { expect, test } from 'vitest'
import { wrap } from '../../src/adapters/index.js'
import { checkIntegrity } from '../../src/core/integrity.js'
import { horizonPolicy, literalPolicy } from '../../src/policies/index.js'
import { testScheduler } from '../support/fixture.js'

interface Item {
  readonly name: string
  readonly handle: number
}

test.each([
  ['default', horizonPolicy()],
  ['literal', literalPolicy()],
])(
  'figure 6: a short-path phase hides relaxed long prefills for one step and restores them: %s',
  (_name, policy) => {
    const horizon = testScheduler(policy)
    const names = new Map<string, number>()
    const arrive = (name: string, path: 'short' | 'long', sloMs?: number): Item => {
      const own = sloMs === undefined ? {} : { sloMs }
      const handle = horizon.arrive(
        { class: path === 'short' ? 'text' : 'speech', promptTokens: 100, id: name, ...own },
        0,
      )
      names.set(name, handle)
      return { name, handle }
    }
    // One request decodes. Then a burst of long ones stands before two short ones; the third long one has 800 ms left for 424 ms of work.
    const decoding = arrive('decode', 'short')
    let waiting: Item[] = [
      arrive('long-1', 'long'),
      arrive('long-2', 'long'),
      arrive('long-urgent', 'long', 800),
      arrive('short-1', 'short'),
      arrive('long-3', 'long'),
      arrive('short-2', 'short'),
    ]
    horizon.admit(decoding.handle)
    horizon.progress(decoding.handle, 100, 1)

    // The engine: a queue and room for one more prefill beside its decodes. It takes the head of the queue it sees.
    const seen: string[][] = []
    const batches: string[][] = []
    const engine = wrap(
      {
        waiting: {
          take: () => waiting.splice(0),
          put: (items: Item[]) => {
            waiting = items
          },
        },
        schedule() {
          seen.push(waiting.map(({ name }) => name))
          const batch = ['decode', waiting.shift()?.name ?? '-']
          batches.push(batch)
          return batch
        },
      },
      horizon,
      { handleOf: ({ handle }) => handle },
    )

    engine.step(1)
    expect(engine.decision).toMatchObject({
      step: 0,
      phase: 'short',
      n: 2,
      protected: 1,
      hidden: 3,
    })
    expect(seen[0]).toEqual(['long-urgent', 'short-1', 'short-2'])
    expect(batches[0]).toEqual(['decode', 'long-urgent'])
    expect(horizon.isVisible(decoding.handle)).toBe(true)
    expect(horizon.explain(names.get('long-1')!)).toMatch(
      /hidden in this step: step 0 is a short-path step \(N = 2\)/,
    )
    // Restored: the long burst stands where it stood, in front.
    expect(waiting.map(({ name }) => name)).toEqual([
      'long-1',
      'long-2',
      'short-1',
      'long-3',
      'short-2',
    ])

    engine.step(2)
    expect(seen[1]).toEqual(['short-1', 'short-2'])
    expect(batches[1]).toEqual(['decode', 'short-1'])

    // After N = 2 short-path steps come M = 2 long-path ones: the burst is seen, as far as the cap of 2 lets it; the urgent one does not count.
    engine.step(3)
    expect(engine.decision.phase).toBe('long')
    expect(seen[2]).toEqual(['long-1', 'long-2'])
    expect(waiting.map(({ name }) => name)).toEqual(['long-2', 'long-3', 'short-2'])
    engine.step(4)
    expect(engine.decision.phase).toBe('long')
    expect(seen[3]).toEqual(['long-2'])
    checkIntegrity(horizon)
  },
)
