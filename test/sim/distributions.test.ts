import { describe, expect, it } from 'vitest'
import {
  clamped,
  constant,
  type Distribution,
  empirical,
  exponential,
  gamma,
  gammaOf,
  lognormal,
  lognormalOf,
  mixture,
  pareto,
  poisson,
  uniform,
  weibull,
  weibullOf,
} from '../../src/sim/distributions.js'
import { createRng } from '../../src/sim/rng.js'

const laws: Record<string, Distribution> = {
  uniform: uniform(2, 6),
  exponential: exponential(3),
  'gamma, shape 0.4': gamma(0.4, 5),
  'gamma, shape 7': gamma(7, 0.5),
  'gamma of cv 2': gammaOf(10, 2),
  'weibull, shape 0.8': weibull(0.8, 4),
  'weibull of cv 0.62': weibullOf(10, 0.62),
  'weibull of cv 1.4': weibullOf(10, 1.4),
  lognormal: lognormal(1, 0.5),
  'lognormal of cv 1.2': lognormalOf(250, 1.2),
  pareto: pareto(2, 6),
  poisson: poisson(4.5),
  empirical: empirical([1, 1, 2, 10]),
  mixture: mixture([
    { weight: 3, of: exponential(1) },
    { weight: 1, of: gamma(4, 5) },
  ]),
}

describe('distributions', () => {
  for (const [name, law] of Object.entries(laws)) {
    it(`has the mean and the variation it states: ${name}`, () => {
      const rng = createRng(11).fork(name)
      const draws = 200_000
      let sum = 0
      let squares = 0
      for (let i = 0; i < draws; i++) {
        const x = law.sample(rng)
        sum += x
        squares += x * x
      }
      const mean = sum / draws
      const cv = Math.sqrt(squares / draws - mean * mean) / mean
      // Five standard errors of the mean; the variation of heavy laws settles slowly.
      expect(Math.abs(mean / law.mean - 1)).toBeLessThan((5 * law.cv) / Math.sqrt(draws))
      expect(Math.abs(cv / law.cv - 1)).toBeLessThan(0.05)
    })
  }

  it('turns a mean and a variation into parameters and back', () => {
    for (const cv of [0.1, 0.62, 1, 1.37, 6.44]) {
      for (const law of [gammaOf(8, cv), weibullOf(8, cv), lognormalOf(8, cv)]) {
        expect(law.mean).toBeCloseTo(8, 9)
        expect(law.cv).toBeCloseTo(cv, 9)
      }
    }
    // Shape 1 makes both gamma and Weibull exponential.
    expect(weibull(1, 3).cv).toBeCloseTo(1, 10)
    expect(weibull(2, 1).mean).toBeCloseTo(Math.sqrt(Math.PI) / 2, 12)
  })

  it('clamps samples and draws constants', () => {
    const rng = createRng(5)
    const law = clamped(exponential(10), 2, 12)
    for (let i = 0; i < 1000; i++) {
      const x = law.sample(rng)
      expect(x >= 2 && x <= 12).toBe(true)
    }
    expect(constant(4).sample(rng)).toBe(4)
  })

  it('names the parameter that is wrong', () => {
    expect(() => gamma(-1, 2)).toThrow(/shape.*positive.*-1/)
    expect(() => exponential(Number.NaN)).toThrow(/mean/)
    expect(() => uniform(3, 3)).toThrow(/high/)
    expect(() => weibullOf(1, 99)).toThrow(/cv/)
    expect(() => poisson(1e4)).toThrow(/700/)
    expect(() => empirical([])).toThrow(/values/)
    expect(() => mixture([])).toThrow(/parts/)
  })
})
