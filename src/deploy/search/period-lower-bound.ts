/**
 * @module
 * A lower bound of the period over all placements, for stating a gap when the search could not finish. Placing units on
 * GPUs within a period T is bin packing: each GPU is a bin of size T, a unit at degree p puts p pieces of its time in it.
 * Dual feasible functions bound bin packing (Lueker 1983; Fekete and Schepers 2001): f maps piece sizes in [0, 1] so that
 * any pieces that fit one bin have sum f <= 1. So T is impossible when the cheapest choice of degrees has sum p f > GPUs.
 */
import type { Unit } from './units.js'

/** Any sizes in [0, 1] that fit one bin of size 1 have images that sum to at most 1. */
export type DualFeasible = (size: number) => number

/** In ms. `floorMs` is a bound known already. */
export function periodLowerBound(units: readonly Unit[], gpus: number, floorMs: number): number {
  return dualFeasible().reduce(
    (best, f) => Math.max(best, leastPeriod(units, gpus, best, f)),
    floorMs,
  )
}

/** The shortest period that this function cannot refute: refutation is monotone in T, so halving finds it. */
function leastPeriod(
  units: readonly Unit[],
  gpus: number,
  floorMs: number,
  f: DualFeasible,
): number {
  if (floorMs === 0 || !refuted(units, gpus, floorMs, f)) return floorMs
  let low = floorMs
  let high = floorMs * 2
  while (refuted(units, gpus, high, f)) {
    low = high
    high *= 2
  }
  for (let step = 0; step < 48; step += 1) {
    const middle = (low + high) / 2
    if (refuted(units, gpus, middle, f)) low = middle
    else high = middle
  }
  return low
}

function refuted(units: readonly Unit[], gpus: number, periodMs: number, f: DualFeasible): boolean {
  let total = 0
  for (const unit of units) {
    let least = Number.POSITIVE_INFINITY
    for (const option of unit.options)
      if (option.loadMs <= periodMs * (1 + 1e-9))
        least = Math.min(least, option.degree * f(Math.min(1, option.loadMs / periodMs)))
    total += least
  }
  return total > gpus * (1 + 1e-9)
}

/** The family tried here. */
export function dualFeasible(): DualFeasible[] {
  const list: DualFeasible[] = [(size) => size]
  // Pieces above 1 - e fill a bin, pieces below e are free.
  for (let e = 0.025; e <= 0.5; e += 0.025)
    list.push((size) => (size > 1 - e + 1e-9 ? 1 : size < e - 1e-9 ? 0 : size))
  // Rounding down to multiples of 1 / k.
  for (let k = 1; k <= 6; k += 1)
    list.push((size) => {
      const scaled = (k + 1) * size
      const whole = Math.round(scaled)
      return Math.abs(scaled - whole) < 1e-9 ? size : Math.floor(scaled) / k
    })
  return list
}
