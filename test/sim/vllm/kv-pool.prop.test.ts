import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createKvPool } from '../../../src/sim/vllm/kv-pool.js'
import { runs } from '../../support/runs.js'

/** The pool told again with plain lists: every block has a name for its contents, and the free list is an array. */
class Model {
  readonly names: string[]
  readonly holders: number[]
  freeList: number[]
  readonly held: number[][]
  private readonly prefixOf: number[]
  private readonly prefixBlocks: number[]

  constructor(blocks: number, prefixOf: number[], prefixBlocks: number[]) {
    this.prefixOf = prefixOf
    this.prefixBlocks = prefixBlocks
    this.names = new Array<string>(blocks).fill('')
    this.holders = new Array<number>(blocks).fill(0)
    this.freeList = Array.from({ length: blocks - 1 }, (_, i) => i + 1)
    this.held = prefixOf.map(() => [])
  }

  name(request: number, position: number): string {
    const from = this.prefixOf[request]!
    return from >= 0 && position < this.prefixBlocks[request]!
      ? this.name(from, position)
      : `${request}/${position}`
  }

  find(request: number, position: number): number {
    return this.names.lastIndexOf(this.name(request, position))
  }

  cached(request: number, limit: number): number {
    if (this.held[request]!.length > 0) return 0
    let count = 0
    while (count < limit && this.find(request, count) >= 0) count++
    return count
  }

  hold(block: number): void {
    if (this.holders[block]!++ === 0) this.freeList = this.freeList.filter((b) => b !== block)
  }

  claim(request: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const block = this.find(request, i)
      this.hold(block)
      this.held[request]!.push(block)
    }
  }

  grow(request: number, wanted: number): boolean {
    const list = this.held[request]!
    if (wanted - list.length > this.freeList.length) return false
    while (list.length < wanted) {
      const block = this.freeList[0]!
      this.hold(block)
      // The newest copy of some contents is the one that is found.
      const name = this.name(request, list.length)
      const older = this.names.indexOf(name)
      if (older >= 0) this.names[older] = ''
      this.names[block] = name
      list.push(block)
    }
    return true
  }

  release(request: number, full: number): void {
    const list = this.held[request]!
    for (let i = list.length - 1; i >= 0; i--) {
      const block = list[i]!
      if (i >= full && this.holders[block] === 1) this.names[block] = ''
      if (--this.holders[block]! === 0) this.freeList.push(block)
    }
    list.length = 0
  }
}

describe('kv pool', () => {
  it('does as plain lists do, whatever is grown, shared, released and claimed back', () => {
    const requests = 5
    // Each request may continue an earlier one.
    const sharing = fc
      .tuple(...Array.from({ length: requests }, (_, i) => fc.integer({ min: -1, max: i - 1 })))
      .chain((prefixOf) =>
        fc.tuple(
          fc.constant(prefixOf),
          fc.array(fc.nat(4), { minLength: requests, maxLength: requests }),
        ),
      )
    const operation = fc.tuple(fc.constantFrom('grow', 'release', 'claim'), fc.nat(4), fc.nat(6))
    fc.assert(
      fc.property(sharing, fc.array(operation, { maxLength: 120 }), ([prefixOf, shared], steps) => {
        const blocks = 13
        const prefixBlocks = shared.map((n, i) => (prefixOf[i] === -1 ? 0 : n))
        const pool = createKvPool({
          blocks,
          requests,
          prefixCaching: true,
          prefixOf: Int32Array.from(prefixOf),
          prefixBlocks: Int32Array.from(prefixBlocks),
        })
        const model = new Model(blocks, [...prefixOf], prefixBlocks)
        for (const [what, request, amount] of steps) {
          if (what === 'grow') {
            const wanted = model.held[request]!.length + amount
            expect(pool.grow(request, wanted)).toBe(model.grow(request, wanted))
          } else if (what === 'release') {
            const full = Math.max(0, model.held[request]!.length - (amount % 2))
            pool.release(request, full)
            model.release(request, full)
          } else {
            const count = pool.cached(request, amount)
            expect(count).toBe(model.cached(request, amount))
            const before = model.freeList.length
            const idle = pool.idle(request, count)
            pool.claim(request, count)
            model.claim(request, count)
            expect(idle).toBe(before - model.freeList.length)
          }
          expect(pool.free).toBe(model.freeList.length)
        }
        for (let request = 0; request < requests; request++) pool.release(request, 0)
        expect(pool.free).toBe(blocks - 1)
      }),
      { numRuns: runs(300, 20_000) },
    )
  })

  it('finds nothing again with prefix caching off', () => {
    const pool = createKvPool({ blocks: 9, requests: 1, prefixCaching: false })
    pool.grow(0, 4)
    pool.release(0, 4)
    expect(pool.cached(0, 4)).toBe(0)
  })

  it('keeps the head of a preempted request longest', () => {
    const pool = createKvPool({ blocks: 9, requests: 2, prefixCaching: true })
    pool.grow(0, 6)
    pool.release(0, 6)
    // Two blocks were never used; the next four come from the tail of what was released.
    pool.grow(1, 6)
    expect(pool.cached(0, 6)).toBe(2)
  })
})
