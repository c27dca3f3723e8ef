import { describe, expect, it } from 'vitest'
import { createRng } from '../../src/sim/rng.js'

describe('rng', () => {
  it('gives the same numbers for the same seed, other numbers for another', () => {
    const take = (seed: number | string): number[] => {
      const rng = createRng(seed)
      return Array.from({ length: 5 }, () => rng.uint32())
    }
    expect(take(7)).toEqual(take(7))
    expect(take(7)).not.toEqual(take(8))
    expect(take(7)).not.toEqual(take('7'))
    // Pinned, so that a change of the generator is seen.
    expect(take(42)).toMatchInlineSnapshot(`
      [
        1330867019,
        1662727273,
        2460092518,
        1874962826,
        2567685660,
      ]
    `)
  })

  it('forks by label alone, whatever was drawn before', () => {
    const fresh = createRng(1).fork('arrivals').uint32()
    const used = createRng(1)
    for (let i = 0; i < 100; i++) used.next()
    expect(used.fork('arrivals').uint32()).toBe(fresh)
    expect(used.fork('lengths').uint32()).not.toBe(fresh)
  })

  it('fills the unit interval evenly and keeps its bounds', () => {
    const rng = createRng(3)
    const bins = new Array<number>(20).fill(0)
    const small = new Array<number>(7).fill(0)
    const draws = 200_000
    for (let i = 0; i < draws; i++) {
      const x = rng.next()
      if (!(x >= 0 && x < 1)) expect.unreachable()
      bins[Math.floor(x * 20)]!++
      small[rng.below(7)]!++
      const y = rng.open()
      if (!(y > 0 && y < 1)) expect.unreachable()
    }
    const chi = (counts: number[]): number =>
      counts.reduce((sum, n) => sum + (n - draws / counts.length) ** 2, 0) / (draws / counts.length)
    // 99.9 % quantiles of chi-square with 19 and 6 degrees of freedom; the seed is fixed.
    expect(chi(bins)).toBeLessThan(43.8)
    expect(chi(small)).toBeLessThan(22.5)
  })

  it('refuses seeds and bounds that are no integers', () => {
    expect(() => createRng(1.5)).toThrow(/seed/)
    expect(() => createRng(1).below(0)).toThrow(/bound/)
  })
})
