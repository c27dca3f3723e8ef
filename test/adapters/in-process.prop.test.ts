/** Hide, call, restore: whatever the wrapped scheduler does in its step, what was hidden stands where it stood. */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type WrappedScheduler, wrap } from '../../src/adapters/index.js'
import { checkIntegrity } from '../../src/core/integrity.js'
import { horizonPolicy, vanillaPolicy } from '../../src/policies/index.js'
import { CLASSES, testScheduler } from '../support/fixture.js'
import { runs } from '../support/runs.js'

interface Item {
  readonly handle: number
  readonly name: string
}

/** What the wrapped scheduler does with the queue it sees. */
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const), n: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('preempt' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('takeAndRequeue' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reorder' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('queueNew' as const), n: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('queueStranger' as const), n: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drop' as const), n: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('throw' as const), n: fc.nat(3) }) },
)
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

const turn = fc.record({
  dtMs: fc.nat(200),
  arrivals: fc.array(fc.nat(CLASSES.length - 1), { maxLength: 4, size: 'max' }),
  acts: fc.array(act, { maxLength: 4, size: 'max' }),
})

class QueueScheduler {
  queue: Item[] = []
  readonly running: Item[] = []
  seen: Item[] = []
  /** The queue as the step left it, before it was restored. */
  left: Item[] = []
  acts: readonly Act[] = []
  readonly waiting = {
    take: (): Item[] => this.queue.splice(0),
    put: (items: Item[]): void => {
      this.queue = [...items]
    },
  }
  readonly make: (c: number) => Item
  readonly drop: (item: Item) => void

  constructor(make: (c: number) => Item, drop: (item: Item) => void) {
    this.make = make
    this.drop = drop
  }

  schedule(): number {
    this.seen = [...this.queue]
    try {
      return this.act()
    } finally {
      this.left = [...this.queue]
    }
  }

  private act(): number {
    const { queue, running } = this
    for (const { do: verb, n } of this.acts) {
      if (verb === 'take') {
        // What came in this very step is not taken in it: it never stood in a queue that the adapter saw.
        for (const item of queue.filter((item) => this.seen.includes(item)).slice(0, n))
          running.push(...queue.splice(queue.indexOf(item), 1))
      }
      if (verb === 'preempt' && running.length > 0)
        queue.unshift(...running.splice(n % running.length, 1))
      else if (verb === 'takeAndRequeue' && queue.length > 0)
        queue.unshift(...queue.splice(n % queue.length, 1))
      else if (verb === 'reorder' && queue.length > 0)
        queue.push(...queue.splice(n % queue.length, 1))
      else if (verb === 'queueNew') queue.push(this.make(n))
      else if (verb === 'queueStranger') queue.push({ handle: 0x7ffffff0 + n, name: 'stranger' })
      else if (verb === 'drop' && queue.length > 0)
        for (const item of queue.splice(n % queue.length, 1)) this.drop(item)
      else if (verb === 'throw' && n === 0) throw new Error('out of KV')
    }
    return running.length
  }
}

/** Items of `all` that stand in `some`, in the order of `all`. */
const within = (all: readonly Item[], some: ReadonlySet<Item>): Item[] =>
  all.filter((item) => some.has(item))

test('order and multiset of the hidden are kept, whatever the wrapped scheduler does', () => {
  let hiddenSeen = 0
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 30, size: 'max' }), (turns) => {
      const horizon = testScheduler(horizonPolicy())
      let now = 0
      const make = (c: number): Item => ({
        handle: horizon.arrive({ class: CLASSES[c]!.name, promptTokens: 200 }, now),
        name: `${CLASSES[c]!.name}`,
      })
      const engine = new QueueScheduler(make, (item) => {
        if (horizon.has(item.handle)) horizon.cancel(item.handle)
      })
      const wrapped: WrappedScheduler<number> = wrap(engine, horizon, {
        handleOf: (item: Item) => item.handle,
      })
      for (const { dtMs, arrivals, acts } of turns) {
        for (const c of arrivals) engine.queue.push(make(c))
        now += dtMs
        const before = [...engine.queue]
        engine.acts = acts
        try {
          wrapped.step(now)
        } catch (error) {
          expect((error as Error).message).toBe('out of KV')
        }
        const after = engine.queue
        const hidden = before.filter((item) => !engine.seen.includes(item))
        hiddenSeen += hidden.length
        // The scheduler saw exactly the visible ones, in their order.
        expect(engine.seen).toEqual(within(before, new Set(engine.seen)))
        // Each hidden one is back, once, in the old order; and so is everything old that still waits.
        const waited = new Set(before)
        const stays = new Set(after.filter((item) => waited.has(item)))
        for (const item of hidden) expect(stays.has(item)).toBe(true)
        expect(after.filter((item) => waited.has(item))).toEqual(within(before, stays))
        expect(new Set(after).size).toBe(after.length)
        // What was put before all that waited stands before it, what was put behind it behind.
        const { left } = engine
        const firstOld = left.findIndex((item) => waited.has(item))
        const lastOld = left.findLastIndex((item) => waited.has(item))
        if (firstOld !== -1) {
          expect(after.slice(0, firstOld)).toEqual(left.slice(0, firstOld))
          const behind = left.length - 1 - lastOld
          expect(after.slice(after.length - behind)).toEqual(left.slice(lastOld + 1))
        }
        // The horizon knows what runs and what waits, and no hidden one runs.
        checkIntegrity(horizon)
        for (const item of engine.running) {
          expect(hidden.includes(item)).toBe(false)
          if (horizon.has(item.handle)) expect(horizon.isScheduled(item.handle)).toBe(true)
        }
        for (const item of after)
          if (horizon.has(item.handle)) expect(horizon.isWaiting(item.handle)).toBe(true)
      }
    }),
    { numRuns: runs(60, 10_000) },
  )
  expect(hiddenSeen).toBeGreaterThan(50)
})

function engineOf(names: readonly (typeof CLASSES)[number]['name'][]) {
  const horizon = testScheduler(horizonPolicy())
  const engine = new QueueScheduler(
    () => ({ handle: horizon.arrive({ class: 'text' }, 1), name: 'new' }),
    () => {},
  )
  engine.queue = names.map((name) => ({ handle: horizon.arrive({ class: name }, 0), name }))
  return { horizon, engine }
}

test('a request taken and queued again in one step keeps its old place', () => {
  const { horizon, engine } = engineOf(['text', 'speech', 'image-in', 'text'])
  const before = [...engine.queue]
  engine.acts = [{ do: 'takeAndRequeue', n: 2 }]
  wrap(engine, horizon, { handleOf: (item: Item) => item.handle }).step(1)
  expect(engine.queue).toEqual(before)
})

test('when everything visible was taken, what is new stands behind the hidden ones, what was preempted before', () => {
  const { horizon, engine } = engineOf(['text', 'speech', 'picture'])
  const [text, speech, picture] = engine.queue
  const wrapped = wrap(engine, horizon, { handleOf: (item: Item) => item.handle })
  engine.acts = [
    { do: 'take', n: 1 },
    { do: 'queueNew', n: 0 },
  ]
  wrapped.step(1)
  const added = engine.queue[2]!
  expect(engine.queue).toEqual([speech, picture, added])
  engine.acts = [
    { do: 'take', n: 1 },
    { do: 'preempt', n: 0 },
  ]
  wrapped.step(2)
  expect(engine.queue).toEqual([text, speech, picture])
  expect(engine.running).toEqual([added])
  expect(horizon.isVisible(text!.handle)).toBe(true)
})

test('neverHide keeps an item in sight, and an item that the horizon does not know is never hidden', () => {
  const { horizon, engine } = engineOf(['speech', 'text', 'picture'])
  engine.queue.push({ handle: 12345678, name: 'stranger' })
  const [speech, text, , stranger] = engine.queue
  wrap(engine, horizon, {
    handleOf: (item: Item) => item.handle,
    neverHide: (item) => item === speech,
  }).step(1)
  expect(engine.seen).toEqual([speech, text, stranger])
})

test('a handleOf that throws leaves the queue as it was', () => {
  const { horizon, engine } = engineOf(['speech', 'text'])
  const before = [...engine.queue]
  const wrapped = wrap(engine, horizon, {
    handleOf: (item: Item) => {
      if (item === before[1]) throw new Error('no handle')
      return item.handle
    },
  })
  expect(() => wrapped.step(1)).toThrow('no handle')
  expect(engine.queue).toEqual(before)
})

test('a step that the horizon refuses leaves the queue as it was, and the scheduler is not called', () => {
  const { horizon, engine } = engineOf(['speech', 'text'])
  const before = [...engine.queue]
  const wrapped = wrap(engine, horizon, { handleOf: (item: Item) => item.handle })
  expect(() => wrapped.step(Number.NaN)).toThrow(/nowMs: impossible value/)
  expect(engine.queue).toEqual(before)
  expect(engine.seen).toEqual([])
})

test('without a filter the wrapped scheduler sees everything', () => {
  const horizon = testScheduler(vanillaPolicy())
  const engine = new QueueScheduler(
    () => ({ handle: 0, name: '' }),
    () => {},
  )
  engine.queue = CLASSES.map(({ name }) => ({ handle: horizon.arrive({ class: name }, 0), name }))
  const before = [...engine.queue]
  const wrapped = wrap(engine, horizon, { handleOf: (item: Item) => item.handle })
  expect(wrapped.step(1)).toBe(0)
  expect(engine.seen).toEqual(before)
  expect(wrapped.decision).toBe(horizon.decision)
})
