/**
 * @module
 * A lower bound of the period that knows hosts: sets of units that fit one host within T are patterns, and if not even
 * fractions of patterns cover all units with the hosts there are, T is impossible (Gilmore and Gomory 1961, Farley 1990).
 *
 * The dual side is solved: a price per unit, such that no pattern of a host costs more than its host is worth. Prices
 * come from a linear program over the patterns seen so far; whatever they are, the dearest pattern is then found
 * exactly, and only that decides.
 */
import type { HostBin } from './host-bins.js'
import type { HostPacker, PackBudget } from './host-packing.js'
import { maximise } from './simplex.js'

/** Whether no placement has a period of `periodMs` or less. False also when the budget ran out. */
export function refutesPeriod(
  bins: readonly HostBin[],
  units: number,
  periodMs: number,
  patterns: PatternStore,
  budget: PackBudget,
): boolean {
  const kinds = [...new Set(bins.map((bin) => bin.kind))]
  const packers = kinds.map((kind) => bins.find((bin) => bin.kind === kind)!)
  const number = kinds.map((kind) => bins.filter((bin) => bin.kind === kind).length)
  for (let unit = 0; unit < units; unit += 1)
    if (packers.every((bin) => bin.packer.refuted([unit], periodMs))) return true
  const rows = patterns.filter(
    ({ kind, members }) => !packers[kinds.indexOf(kind)]!.packer.refuted(members, periodMs),
  )
  for (const kind of kinds)
    for (let unit = 0; unit < units; unit += 1)
      if (Number.isFinite(packers[kinds.indexOf(kind)]!.packer.area(unit, periodMs)))
        rows.push({ kind, members: [unit] })
  const width = units + kinds.length
  const triples: (readonly [number, number, number])[] = []
  for (let round = 0; round < 300 && budget.nodes > 0; round += 1) {
    // Prices per unit, then the worth of a host of each kind, then the toll of each triple; all hosts together are worth 1.
    const matrix = rows.map(({ kind, members }) => {
      const row = new Float64Array(width + triples.length)
      for (const unit of members) row[unit] = 1
      row[units + kinds.indexOf(kind)] = -1
      triples.forEach((triple, index) => {
        if (twoOf(triple, members)) row[width + index] = -1
      })
      return row
    })
    const all = new Float64Array(width + triples.length)
    number.forEach((count, index) => {
      all[units + index] = count
    })
    const goal = new Float64Array(width + triples.length).fill(1, 0, units).fill(-1, width)
    const { x, rowWorth } = maximise(goal, [...matrix, all], [...matrix.map(() => 0), 1])
    const price = x.slice(0, units)
    const tolls = triples.flatMap((triple, index) =>
      x[width + index]! > 0 ? [{ triple, toll: x[width + index]! }] : [],
    )
    const total =
      price.reduce((sum, value) => sum + value, 0) - tolls.reduce((sum, { toll }) => sum + toll, 0)
    if (total <= 1 + 1e-7) {
      // With these patterns the hosts suffice, by fractions. Fractions that no whole packing has may be cut off.
      const found = brokenTriples(rows, rowWorth, units, triples)
      if (found.length === 0 || triples.length >= 8) return false
      triples.push(...found)
      continue
    }
    let worth = 0
    let grown = false
    for (const [index, bin] of packers.entries()) {
      const found = dearest(bin, price, tolls, periodMs, x[units + index]!)
      worth += number[index]! * found.value
      for (const members of found.sets) {
        grown = true
        rows.push({ kind: bin.kind, members })
        patterns.push({ kind: bin.kind, members })
      }
    }
    if (total > worth * (1 + 1e-9)) return true
    if (!grown) return false
  }
  return false
}

/**
 * Subset-row cuts (Jepsen et al. 2008): of three units, at most one host can hold two or more. The triples that the
 * fractions break most.
 */
function brokenTriples(
  rows: PatternStore,
  share: readonly number[],
  units: number,
  known: readonly (readonly [number, number, number])[],
): (readonly [number, number, number])[] {
  const used = rows.flatMap(({ members }, index) =>
    share[index]! > 1e-6 && members.length > 1 ? [{ members, share: share[index]! }] : [],
  )
  const found: { readonly triple: readonly [number, number, number]; readonly excess: number }[] =
    []
  for (let a = 0; a < units; a += 1)
    for (let b = a + 1; b < units; b += 1)
      for (let c = b + 1; c < units; c += 1) {
        const triple = [a, b, c] as const
        const sum = used.reduce(
          (total, item) => total + (twoOf(triple, item.members) ? item.share : 0),
          0,
        )
        if (sum > 1.02 && !known.some(([x, y, z]) => x === a && y === b && z === c))
          found.push({ triple, excess: sum })
      }
  return found
    .sort((one, two) => two.excess - one.excess)
    .slice(0, 8)
    .map(({ triple }) => triple)
}

function twoOf(triple: readonly [number, number, number], members: readonly number[]): boolean {
  let inside = 0
  for (const unit of triple) if (members.includes(unit)) inside += 1
  return inside >= 2
}

/** Patterns seen at other periods: most of them fit this one too. */
export type PatternStore = { readonly kind: number; readonly members: readonly number[] }[]

/** Sets gathered before a look ends early: enough new patterns to price anew. */
const ENOUGH = 24

/** The greatest price of a set that fits a host, and every set met on the way that costs more than the host is worth. */
function dearest(
  { packer, gpus }: HostBin,
  price: readonly number[],
  tolls: readonly { readonly triple: readonly [number, number, number]; readonly toll: number }[],
  periodMs: number,
  worth: number,
): { readonly value: number; readonly sets: readonly (readonly number[])[] } {
  const weighings = weighingsOf(packer, price, gpus.length, periodMs)
  const { order } = weighings[0]!
  const ignored = price.reduce((sum, value) => sum + (value > 0 && value <= 1e-9 ? value : 0), 0)
  const sets: (readonly number[])[] = []
  let best = worth
  let cut = false
  const visit = (
    members: readonly number[],
    value: number,
    closed: readonly boolean[],
    rooms: readonly number[],
    from: number,
  ): void => {
    // Tolls only take away, so what the bounds below promise without them stays true.
    const net = tolls.reduce(
      (rest, { triple, toll }) => rest - (twoOf(triple, members) ? toll : 0),
      value,
    )
    if (net > best + 1e-9) {
      best = net
      sets.push(members)
    }
    const open = [...closed]
    for (let index = from; index < order.length; index += 1) {
      if (sets.length >= ENOUGH) {
        cut = true
        return
      }
      if (weighings.some((weighing, at) => value + hope(weighing, open, rooms[at]!) <= best + 1e-9))
        return
      const unit = order[index]!
      open[unit] = true
      if (weighings.some(({ weight }, at) => weight[unit]! > rooms[at]! + 1e-9)) continue
      const grown = [...members, unit].sort((a, b) => a - b)
      if (packer.refuted(grown, periodMs)) continue
      const left = weighings.map(({ weight }, at) => rooms[at]! - weight[unit]!)
      visit(grown, value + price[unit]!, open, left, index + 1)
    }
  }
  visit(
    [],
    0,
    price.map(() => false),
    weighings.map(() => gpus.length),
    0,
  )
  return { value: cut ? Number.POSITIVE_INFINITY : best + 1e-9 + ignored, sets }
}

interface Weighing {
  readonly weight: Float64Array
  readonly price: readonly number[]
  /** Units by price per weight, dearest first. */
  readonly order: readonly number[]
}

/** The three weighings that promise least in all, the sharpest first. */
function weighingsOf(
  packer: HostPacker,
  price: readonly number[],
  room: number,
  periodMs: number,
): Weighing[] {
  return packer
    .weights(periodMs)
    .map((weight): Weighing => {
      const order = price
        .map((_, unit) => unit)
        .filter((unit) => price[unit]! > 1e-9 && Number.isFinite(weight[unit]!))
        .sort((a, b) => price[b]! * weight[a]! - price[a]! * weight[b]! || a - b)
      return { weight, price, order }
    })
    .map((weighing) => ({ weighing, hope: hope(weighing, [], room) }))
    .sort((a, b) => a.hope - b.hope)
    .slice(0, 3)
    .map(({ weighing }) => weighing)
}

/** What open units could add within some room, as if they could be cut. */
function hope(
  { weight, price, order }: Weighing,
  closed: readonly boolean[],
  room: number,
): number {
  let sum = 0
  let rest = room
  for (const unit of order) {
    if (closed[unit]) continue
    if (weight[unit]! >= rest)
      return sum + (weight[unit]! > 0 ? (rest / weight[unit]!) * price[unit]! : 0)
    sum += price[unit]!
    rest -= weight[unit]!
  }
  return sum
}
