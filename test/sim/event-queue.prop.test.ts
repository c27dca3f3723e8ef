import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventQueue, type EventId } from '../../src/sim/event-queue.js'
import { runs } from '../support/runs.js'

interface Waiting {
  id: EventId
  timeMs: number
  rank: number
  sequence: number
  tag: number
}

describe('event queue', () => {
  it('pops in the order of a sorted list, whatever is pushed, popped and cancelled between', () => {
    const operation = fc.oneof(
      { weight: 5, arbitrary: fc.tuple(fc.nat(6), fc.nat(3)) },
      { weight: 3, arbitrary: fc.constant('pop' as const) },
      { weight: 1, arbitrary: fc.nat() },
    )
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const queue = createEventQueue(1)
        const model: Waiting[] = []
        const gone: EventId[] = []
        let sequence = 0
        let popped = 0
        const order = (x: Waiting, y: Waiting): number =>
          x.timeMs - y.timeMs || x.rank - y.rank || x.sequence - y.sequence
        for (const step of operations) {
          if (step === 'pop') {
            model.sort(order)
            const first = model.shift()
            expect(queue.peekMs()).toBe(first?.timeMs ?? Infinity)
            expect(queue.pop()).toBe(first !== undefined)
            if (first !== undefined) {
              popped++
              gone.push(first.id)
              expect([queue.event.timeMs, queue.event.a, queue.event.kind]).toEqual([
                first.timeMs,
                first.tag,
                first.rank + 10,
              ])
            }
          } else if (typeof step === 'number') {
            const victim = model.splice(step % Math.max(1, model.length), 1)[0]
            if (victim !== undefined) {
              expect(queue.cancel(victim.id)).toBe(true)
              gone.push(victim.id)
            }
            for (const id of gone) expect(queue.cancel(id)).toBe(false)
          } else {
            const [timeMs, rank] = step
            const id = queue.push(timeMs, rank, rank + 10, sequence, -sequence)
            model.push({ id, timeMs, rank, sequence, tag: sequence })
            sequence++
          }
          expect(queue.size).toBe(model.length)
          expect(queue.popped).toBe(popped)
        }
      }),
      { numRuns: runs(300, 10_000) },
    )
  })

  it('refuses an event it cannot order, and stays as it was', () => {
    const queue = createEventQueue()
    for (const timeMs of [Number.NaN, Infinity, -Infinity]) {
      expect(() => queue.push(timeMs, 0, 0, 0, 0)).toThrow(/timeMs.*finite/)
    }
    expect(() => queue.push(0, 32, 0, 0, 0)).toThrow(/rank/)
    expect(queue.size).toBe(0)
    expect(queue.pop()).toBe(false)
  })
})
