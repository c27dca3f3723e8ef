/**
 * @module
 * A sharper lower bound of the period: prices instead of fixed functions. Give every (unit, option) a price per piece; if
 * no set of pieces that fits one GPU within T costs more than 1, and the cheapest way to run all units costs more than
 * there are GPUs, T is impossible. (The dual of the cutting-stock program of Gilmore and Gomory, with options.)
 *
 * Prices are found by subgradient steps. Whatever they are, the bound holds: the dearest set is found on a grid that
 * rounds sizes down, so it is never underrated.
 */
import type { Unit } from './units.js'

const GRID = 360
const STEPS = 3000

/** In ms, at least `floorMs`: raised by 0.4 per cent at a time while prices can refute it. */
export function packingBound(units: readonly Unit[], gpus: number, floorMs: number): number {
  let bound = floorMs
  if (!(floorMs > 0) || units.length > 64) return floorMs
  for (let round = 0; round < 60; round += 1) {
    const next = bound * 1.004
    if (!refutes(units, gpus, next)) break
    bound = next
  }
  return bound
}

function refutes(units: readonly Unit[], gpus: number, periodMs: number): boolean {
  const options = units.map((unit) =>
    unit.options.filter((option) => option.loadMs > 0 && option.loadMs <= periodMs * (1 + 1e-9)),
  )
  // A unit without load is free; one whose every option is too long refutes the period alone.
  if (
    units.some(
      (unit, index) => options[index]!.length === 0 && unit.options.every((o) => o.loadMs > 0),
    )
  )
    return true
  const active = options.filter((list) => list.length > 0)
  const sizes = active.map((list) =>
    list.map((item) => Math.floor((item.loadMs / periodMs) * GRID)),
  )
  const price = active.map((list) => list.map((item) => item.loadMs / periodMs))
  for (let step = 0; step < STEPS; step += 1) {
    const dearest = dearestSet(price, sizes)
    let total = 0
    const chosen = active.map((list, unit) => {
      let best = 0
      list.forEach((item, option) => {
        if (item.degree * price[unit]![option]! < list[best]!.degree * price[unit]![best]!)
          best = option
      })
      total += list[best]!.degree * price[unit]![best]!
      return best
    })
    if (total > gpus * dearest.value * (1 + 1e-9)) return true
    const rate = 0.02 / (1 + step / 100)
    active.forEach((list, unit) => {
      list.forEach((item, option) => {
        let slope = 0
        if (chosen[unit] === option) slope += item.degree
        if (dearest.option[unit] === option) slope -= gpus
        const own = price[unit]!
        own[option] = Math.max(0, own[option]! + (rate * slope) / Math.sqrt(gpus))
      })
    })
  }
  return false
}

/** The dearest pieces that fit one GPU, at most one per unit: a knapsack over the grid. */
function dearestSet(
  price: readonly (readonly number[])[],
  sizes: readonly (readonly number[])[],
): { readonly value: number; readonly option: readonly number[] } {
  const width = GRID + 1
  let value = new Float64Array(width)
  const pick = price.map(() => new Int8Array(width).fill(-1))
  price.forEach((row, unit) => {
    const next = value.slice()
    row.forEach((cost, option) => {
      const size = sizes[unit]![option]!
      for (let room = size; room < width; room += 1) {
        const with_ = value[room - size]! + cost
        if (with_ > next[room]!) {
          next[room] = with_
          pick[unit]![room] = option
        }
      }
    })
    value = next
  })
  const option = new Array<number>(price.length).fill(-1)
  let room = GRID
  for (let unit = price.length - 1; unit >= 0; unit -= 1) {
    option[unit] = pick[unit]![room]!
    if (option[unit] !== -1) room -= sizes[unit]![option[unit]!]!
  }
  return { value: value[GRID]!, option }
}
