/**
 * @module
 * The normal distribution, to the precision that small levels need: the tail's relative error stays below 1e-9.
 */

/** P(Z <= x). */
export function normalBelow(x: number): number {
  if (x < 0) return x < -TURN ? tail(-x) : 0.5 - middle(-x)
  return x > TURN ? 1 - tail(x) : 0.5 + middle(x)
}

/** The x with P(Z <= x) = p, by bisection. */
export function normalQuantile(p: number): number {
  let low = -38
  let high = 38
  while (high - low > 1e-12 * Math.max(1, Math.abs(low))) {
    const between = (low + high) / 2
    if (normalBelow(between) < p) low = between
    else high = between
  }
  return (low + high) / 2
}

export function normalDensity(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)
}

/** Where the series gives way to the fraction: beyond, subtracting from one half would cost digits. */
const TURN = 3

/** P(0 < Z < x): density times the series x + x^3/3 + x^5/(3 5) + ... */
function middle(x: number): number {
  let term = x
  let sum = x
  for (let odd = 3; term > 1e-17 * sum; odd += 2) {
    term *= (x * x) / odd
    sum += term
  }
  return sum * normalDensity(x)
}

/** P(Z > x) for large x: Laplace's continued fraction of Mills' ratio, from its end. */
function tail(x: number): number {
  let fraction = x
  for (let k = 200; k > 0; k--) fraction = x + k / fraction
  return normalDensity(x) / fraction
}
