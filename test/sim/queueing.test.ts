import { describe, expect, it } from 'vitest'
import { constant, exponential, gammaOf } from '../../src/sim/distributions.js'
import { erlangC, mg1Wait, mmcWait, simulateQueue } from '../../src/sim/queueing.js'
import { runs } from '../support/runs.js'

const customers = runs(200_000, 4_000_000)
const warmup = 5_000

describe('queues with closed forms', () => {
  // The formulas against values worked out by hand.
  it('knows the formulas', () => {
    expect(erlangC(1, 0.7)).toBeCloseTo(0.7, 12)
    expect(erlangC(2, 1)).toBeCloseTo(1 / 3, 12)
    expect(mmcWait(1, 10, 8)).toBeCloseTo(32, 10)
    expect(mg1Wait(10, 8, 1)).toBeCloseTo(32, 10)
    expect(mg1Wait(10, 8, 0)).toBeCloseTo(16, 10)
  })

  const cases = [
    { name: 'M/M/1 at 0.5', servers: 1, service: exponential(5), wait: mmcWait(1, 10, 5) },
    { name: 'M/M/1 at 0.8', servers: 1, service: exponential(8), wait: mmcWait(1, 10, 8) },
    { name: 'M/D/1 at 0.8', servers: 1, service: constant(8), wait: mg1Wait(10, 8, 0) },
    {
      name: 'M/G/1 at 0.7, cv 1.5',
      servers: 1,
      service: gammaOf(7, 1.5),
      wait: mg1Wait(10, 7, 1.5),
    },
    { name: 'M/M/3 at 0.8', servers: 3, service: exponential(24), wait: mmcWait(3, 10, 24) },
    { name: 'M/M/16 at 0.9', servers: 16, service: exponential(144), wait: mmcWait(16, 10, 144) },
  ]
  for (const { name, servers, service, wait } of cases) {
    it(`meets the mean wait of ${name} within its 99 % interval`, () => {
      const gap = exponential(10)
      const result = simulateQueue({ servers, gap, service, customers, warmup, seed: name })
      expect(Math.abs(result.meanWaitMs - wait)).toBeLessThan(result.halfWidthMs)
      // An interval so wide that it proves nothing would be met by anything.
      expect(result.halfWidthMs).toBeLessThan(0.25 * wait)
    })
  }

  it('meets the share of customers that wait, by Erlang C', () => {
    const result = simulateQueue({
      servers: 4,
      gap: exponential(10),
      service: exponential(32),
      customers,
      warmup,
      seed: 'erlang',
    })
    expect(result.waited).toBeCloseTo(erlangC(4, 3.2), 1)
  })

  it('gives the same bytes for the same seed, and counts two events per customer', () => {
    const run = () =>
      simulateQueue({
        servers: 2,
        gap: exponential(10),
        service: exponential(15),
        customers: 20_000,
        seed: 9,
      })
    expect(JSON.stringify(run())).toBe(JSON.stringify(run()))
    expect(run().events).toBe(40_000)
  })

  it('refuses a queue that cannot be measured', () => {
    const gap = exponential(1)
    expect(() => simulateQueue({ servers: 0, gap, service: gap, customers: 100, seed: 1 })).toThrow(
      /servers/,
    )
    expect(() => simulateQueue({ servers: 1, gap, service: gap, customers: 10, seed: 1 })).toThrow(
      /customers/,
    )
  })
})
