/**
 * @module
 * Packs units onto hosts within a period, and asks for a shorter one each time it succeeds. Hosts are bins whose
 * contents are checked exactly (`host-packing.ts`), so a move is a look into a table.
 */
import type { HostBin } from './host-bins.js'
import type { PackBudget } from './host-packing.js'
import type { Assignment } from './search-state.js'

export interface HostPlace {
  readonly assignment: Assignment
  /** Of every host alone; cycles that pass several hosts are not in it. */
  readonly periodMs: number
}

export interface SpreadHostsOptions {
  readonly bins: readonly HostBin[]
  readonly units: number
  readonly random: () => number
  readonly budget: PackBudget
  /** Moves tried before a period is given up. */
  readonly moves: number
}

/** A packing within the period, or undefined when none was found. */
export function packHosts(periodMs: number, options: SpreadHostsOptions): HostPlace | undefined {
  const { bins, random, budget } = options
  const items = Array.from({ length: options.units }, (_, unit) => [unit])
  const size = items.map((item) =>
    item.reduce((sum, unit) => sum + leastArea(bins, unit, periodMs), 0),
  )
  if (size.some((area) => !Number.isFinite(area))) return undefined
  const content: number[][] = bins.map(() => [])
  const at = new Array<number>(items.length).fill(-1)
  const fits = (bin: number, inside: readonly number[]): boolean =>
    bins[bin]!.packer.fit(membersOf(items, inside), periodMs) !== undefined
  const put = (item: number, bin: number): void => {
    content[bin]!.push(item)
    at[item] = bin
  }
  const take = (item: number): void => {
    content[at[item]!] = content[at[item]!]!.filter((other) => other !== item)
    at[item] = -1
  }
  const order = items.map((_, item) => item).sort((a, b) => size[b]! - size[a]! || a - b)
  const insert = (item: number): boolean => {
    // The fullest host that still takes it.
    const full = bins
      .map((_, bin) => bin)
      .sort((a, b) => sum(content[b]!, size) - sum(content[a]!, size) || a - b)
    const seen = new Set<string>()
    for (const bin of full) {
      const look = `${bins[bin]!.kind}:${content[bin]!.length === 0 ? '' : bin}`
      if (seen.has(look)) continue
      seen.add(look)
      if (!fits(bin, [...content[bin]!, item])) continue
      put(item, bin)
      return true
    }
    return false
  }
  for (const item of order) insert(item)
  for (let move = 0; move < options.moves && budget.nodes > 0; move += 1) {
    const waiting = order.filter((item) => at[item] === -1)
    if (waiting.length === 0) return placeOf(content, items, periodMs, options)
    const item = waiting[Math.floor(random() * waiting.length)]!
    if (insert(item)) continue
    const bin = Math.floor(random() * bins.length)
    const inside = content[bin]!
    // Put it in, and out goes one or two that leave room: what costs least in waiting work.
    let best: { readonly out: readonly number[]; readonly cost: number } | undefined
    for (const out of ejections(inside, random)) {
      const cost = sum(out, size) - size[item]!
      if (cost > 0.35 * size[item]! * random() * 2 || (best !== undefined && cost >= best.cost))
        continue
      if (fits(bin, [...inside.filter((other) => !out.includes(other)), item])) best = { out, cost }
    }
    if (best !== undefined) {
      for (const other of best.out) take(other)
      put(item, bin)
      for (const other of best.out) insert(other)
    }
    shuffle(content, at, fits, random)
  }
  return order.every((item) => at[item] !== -1)
    ? placeOf(content, items, periodMs, options)
    : undefined
}

/** Exchanges two items between hosts, or moves one, wherever both still fit: a sideways step. */
function shuffle(
  content: number[][],
  at: number[],
  fits: (bin: number, inside: readonly number[]) => boolean,
  random: () => number,
): void {
  const first = Math.floor(random() * content.length)
  const second = Math.floor(random() * content.length)
  const left = content[first]!
  const right = content[second]!
  if (first === second || left.length === 0) return
  const mine = left[Math.floor(random() * left.length)]!
  const choice = Math.floor(random() * (right.length + 1))
  const { [choice]: theirs } = right
  const newLeft = left.filter((item) => item !== mine)
  const newRight = right.filter((item) => item !== theirs)
  if (theirs !== undefined) newLeft.push(theirs)
  newRight.push(mine)
  if (!fits(first, newLeft) || !fits(second, newRight)) return
  content[first] = newLeft
  content[second] = newRight
  at[mine] = second
  if (theirs !== undefined) at[theirs] = first
}

/** Each item alone, and some pairs. */
function* ejections(inside: readonly number[], random: () => number): Generator<readonly number[]> {
  for (const item of inside) yield [item]
  for (const [index, item] of inside.entries())
    for (const other of inside.slice(index + 1)) if (random() < 0.5) yield [item, other]
}

function placeOf(
  content: readonly (readonly number[])[],
  items: readonly (readonly number[])[],
  limitMs: number,
  { bins, units }: SpreadHostsOptions,
): HostPlace {
  const option = new Array<number>(units).fill(-1)
  const gpus: (readonly number[])[] = Array.from({ length: units }, () => [])
  let periodMs = 0
  content.forEach((inside, bin) => {
    if (inside.length === 0) return
    const members = membersOf(items, inside)
    const fit = bins[bin]!.packer.fit(members, limitMs)!
    periodMs = Math.max(periodMs, fit.periodMs)
    members.forEach((unit, index) => {
      option[unit] = fit.option[index]!
      gpus[unit] = bins[bin]!.gpus.filter((_, position) => fit.mask[index]! & (1 << position))
    })
  })
  return { assignment: { option, gpus }, periodMs }
}

function membersOf(items: readonly (readonly number[])[], inside: readonly number[]): number[] {
  return inside.flatMap((item) => items[item]!).sort((a, b) => a - b)
}

function leastArea(bins: readonly HostBin[], unit: number, periodMs: number): number {
  return Math.min(...bins.map((bin) => bin.packer.area(unit, periodMs)))
}

function sum(inside: readonly number[], size: readonly number[]): number {
  return inside.reduce((total, item) => total + size[item]!, 0)
}
