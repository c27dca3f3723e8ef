/**
 * @module
 * Distributions of positive quantities (gaps between arrivals, lengths, service times), each with its mean and its coefficient of
 * variation. Parameters are those of the literature; `gammaOf`, `weibullOf` and `lognormalOf` take a mean and a variation instead.
 */
import { HorizonError } from '../core/errors.js'
import type { Rng } from './rng.js'

export interface Distribution {
  readonly mean: number
  /** Standard deviation over mean. */
  readonly cv: number
  sample(rng: Rng): number
}

/** Always the same value. */
export function constant(value: number): Distribution {
  return { mean: finite('value', value), cv: 0, sample: () => value }
}

/** Uniform on [low, high). */
export function uniform(low: number, high: number): Distribution {
  if (!(finite('low', low) < finite('high', high))) bad('high', 'more than low', high)
  const mean = (low + high) / 2
  const span = high - low
  return { mean, cv: span / Math.sqrt(12) / mean, sample: (rng) => low + span * rng.next() }
}

/** Exponential: the gaps of a Poisson process of rate `1 / mean`. */
export function exponential(mean: number): Distribution {
  positive('mean', mean)
  return { mean, cv: 1, sample: (rng) => -mean * Math.log(rng.open()) }
}

/** Gamma by shape k and scale θ (Marsaglia and Tsang, 2000; boosted below shape 1). */
export function gamma(shape: number, scale: number): Distribution {
  positive('shape', shape)
  positive('scale', scale)
  const boosted = shape < 1 ? shape + 1 : shape
  const d = boosted - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  const inverse = 1 / shape
  function sample(rng: Rng): number {
    for (;;) {
      const x = standardNormal(rng)
      const t = 1 + c * x
      if (t <= 0) continue
      const v = t * t * t
      const u = rng.open()
      if (Math.log(u) < 0.5 * x * x + d - d * v + d * Math.log(v)) {
        const value = d * v * scale
        return shape < 1 ? value * rng.open() ** inverse : value
      }
    }
  }
  return { mean: shape * scale, cv: 1 / Math.sqrt(shape), sample }
}

/** Weibull by shape k and scale λ. */
export function weibull(shape: number, scale: number): Distribution {
  positive('shape', shape)
  positive('scale', scale)
  const inverse = 1 / shape
  const g1 = Math.exp(logGamma(1 + inverse))
  const cv = weibullCv(shape)
  return { mean: scale * g1, cv, sample: (rng) => scale * (-Math.log(rng.open())) ** inverse }
}

/** Lognormal by μ and σ of the logarithm. */
export function lognormal(mu: number, sigma: number): Distribution {
  finite('mu', mu)
  if (!(sigma >= 0 && sigma < Infinity)) bad('sigma', 'a number of at least 0', sigma)
  return {
    mean: Math.exp(mu + (sigma * sigma) / 2),
    cv: Math.sqrt(Math.expm1(sigma * sigma)),
    sample: (rng) => Math.exp(mu + sigma * standardNormal(rng)),
  }
}

/** Pareto by scale (the smallest value) and tail index; the mean is infinite up to index 1. */
export function pareto(scale: number, index: number): Distribution {
  positive('scale', scale)
  positive('index', index)
  return {
    mean: index > 1 ? (index * scale) / (index - 1) : Infinity,
    cv: index > 2 ? 1 / Math.sqrt(index * (index - 2)) : Infinity,
    sample: (rng) => scale * rng.open() ** (-1 / index),
  }
}

/** Counts of a Poisson law, by inversion in the product form; for means up to 700. */
export function poisson(mean: number): Distribution {
  positive('mean', mean)
  if (mean > 700) bad('mean', 'at most 700', mean)
  const floor = Math.exp(-mean)
  function sample(rng: Rng): number {
    let count = 0
    for (let product = rng.open(); product > floor; product *= rng.open()) count++
    return count
  }
  return { mean, cv: 1 / Math.sqrt(mean), sample }
}

/** Draws one of the values observed, each equally likely. The values are copied. */
export function empirical(values: ArrayLike<number>): Distribution {
  if (values.length === 0) bad('values', 'at least one value', 0)
  const copy = Float64Array.from(values)
  let sum = 0
  for (const value of copy) sum += finite('values', value)
  const mean = sum / copy.length
  let squares = 0
  for (const value of copy) squares += (value - mean) ** 2
  const cv = Math.sqrt(squares / copy.length) / mean
  return { mean, cv, sample: (rng) => copy[rng.below(copy.length)] as number }
}

/** Draws from one of the parts, chosen by weight; weights need not sum to 1. */
export function mixture(
  parts: readonly { readonly weight: number; readonly of: Distribution }[],
): Distribution {
  let total = 0
  for (const part of parts) total += positive('weight', part.weight)
  const last = parts[parts.length - 1]
  if (last === undefined) bad('parts', 'at least one part', 0)
  let mean = 0
  let square = 0
  for (const { weight, of } of parts) {
    mean += (weight / total) * of.mean
    square += (weight / total) * of.mean ** 2 * (1 + of.cv ** 2)
  }
  function sample(rng: Rng): number {
    let point = rng.next() * total
    for (const part of parts) {
      point -= part.weight
      if (point < 0) return part.of.sample(rng)
    }
    return (last as { of: Distribution }).of.sample(rng)
  }
  return { mean, cv: Math.sqrt(Math.max(0, square / mean ** 2 - 1)), sample }
}

/** The same law held inside [low, high] by clamping; the moments reported are those of the law unclamped. */
export function clamped(of: Distribution, low: number, high: number): Distribution {
  if (!(low <= high)) bad('high', 'at least low', high)
  return {
    mean: of.mean,
    cv: of.cv,
    sample: (rng) => Math.min(high, Math.max(low, of.sample(rng))),
  }
}

/** Gamma by mean and coefficient of variation: `cv` 1 is exponential, more is burstier. */
export function gammaOf(mean: number, cv: number): Distribution {
  positive('mean', mean)
  positive('cv', cv)
  return gamma(1 / (cv * cv), mean * cv * cv)
}

/** Weibull by mean and coefficient of variation (0.05 to 50); the shape is found by bisection. */
export function weibullOf(mean: number, cv: number): Distribution {
  positive('mean', mean)
  if (!(cv >= 0.05 && cv <= 50)) bad('cv', '0.05 to 50', cv)
  let low = 0.08
  let high = 40
  for (let i = 0; i < 80; i++) {
    const middle = (low + high) / 2
    if (weibullCv(middle) > cv) low = middle
    else high = middle
  }
  const shape = (low + high) / 2
  return weibull(shape, mean / Math.exp(logGamma(1 + 1 / shape)))
}

/** Lognormal by mean and coefficient of variation. */
export function lognormalOf(mean: number, cv: number): Distribution {
  positive('mean', mean)
  positive('cv', cv)
  const variance = Math.log1p(cv * cv)
  return lognormal(Math.log(mean) - variance / 2, Math.sqrt(variance))
}

/** One standard normal draw (Box and Muller; the second value is not kept, so a stream has no hidden state). */
export function standardNormal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log(rng.open())) * Math.cos(2 * Math.PI * rng.next())
}

function weibullCv(shape: number): number {
  return Math.sqrt(Math.expm1(logGamma(1 + 2 / shape) - 2 * logGamma(1 + 1 / shape)))
}

/** Logarithm of the gamma function for x ≥ 1: Stirling's series after shifting above 8; relative error below 1e-12. */
function logGamma(x: number): number {
  let shift = 0
  let y = x
  while (y < 8) {
    shift += Math.log(y)
    y += 1
  }
  const r = 1 / (y * y)
  const series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / y
  return (y - 0.5) * Math.log(y) - y + 0.5 * Math.log(2 * Math.PI) + series - shift
}

function finite(field: string, value: number): number {
  return Number.isFinite(value) ? value : bad(field, 'a finite number', value)
}

function positive(field: string, value: number): number {
  return value > 0 && value < Infinity ? value : bad(field, 'a positive number', value)
}

function bad(field: string, expected: string, got: unknown): never {
  throw new HorizonError('ERR_SIM_DISTRIBUTION', 'bad parameter', { field, expected, got })
}
