/**
 * @module
 * Whether a set of units fits one host within a period: exact, and remembered. A host holds a handful of units, so
 * groups are bit masks over its GPUs, and a depth-first search over options and masks answers in microseconds. What is
 * built from it (`spread-hosts.ts`, `host-bound.ts`) looks at hosts as bins.
 */

import type { OverlapRule } from './candidate-groups.js'
import { allowed, bits, canonical, looks } from './host-masks.js'
import { dualFeasible } from './period-lower-bound.js'
import type { CyclesOfUnits } from './unit-cycles.js'
import type { Unit, UnitOption } from './units.js'

/** Wider hosts have too many masks, and more units do not fit the exact integers that name a set. */
export const MAX_HOST_GPUS = 10
export const MAX_UNITS = 52

/** One way to run a set of units on a host; `option` and `mask` by position in the set. */
export interface HostFit {
  /** Busiest GPU or cycle of waits inside the host, in ms. */
  readonly periodMs: number
  readonly option: readonly number[]
  readonly mask: readonly number[]
}

export interface HostPacker {
  /** A fit within the period, or undefined where there is none, or where none was found in time. */
  fit(members: readonly number[], periodMs: number): HostFit | undefined
  /** True only where no fit exists. */
  refuted(members: readonly number[], periodMs: number): boolean
  /** Units weighed by dual feasible functions: no set with a fit weighs more than the host has GPUs in any of them. */
  weights(periodMs: number): readonly Float64Array[]
  /** Least GPU time (degree times ms) that a unit takes within a period; infinite when no option is short enough. */
  area(unit: number, periodMs: number): number
}

/** What the packer counts down: partial placements on a host. */
export interface PackBudget {
  nodes: number
}

export interface HostKind {
  readonly hardware: string
  /** GiB of each GPU, by position in the host. */
  readonly memoryGiB: readonly number[]
}

/** Looks at one set before it is left undecided. */
const SET_NODES = 3000

interface Known {
  fit?: HostFit
  /** The longest period that was refuted, in ms. */
  noMs: number
  /** The longest period left undecided. */
  openMs: number
}

export function hostPacker(
  kind: HostKind,
  units: readonly Unit[],
  cycles: CyclesOfUnits,
  overlap: OverlapRule,
  budget: PackBudget,
  alone: boolean,
): HostPacker {
  const count = kind.memoryGiB.length
  const options = units.map((unit) =>
    unit.options.flatMap((spec, index) =>
      spec.hardware === kind.hardware && spec.degree <= count ? [{ spec, index }] : [],
    ),
  )
  for (const list of options)
    list.sort((a, b) => a.spec.degree * a.spec.loadMs - b.spec.degree * b.spec.loadMs)
  const masks: number[][] = Array.from({ length: count + 1 }, () => [])
  for (let mask = 1; mask < 2 ** count; mask += 1) masks[bits(mask)]!.push(mask)
  const memo = new Map<number, Known>()
  const load = new Float64Array(count)
  const memory = new Float64Array(count)
  const stateCount =
    1 + Math.max(-1, ...units.flatMap((unit) => unit.options[0]!.states.map((s) => s.state)))
  const held = new Float64Array(count * stateCount)
  const chosen = new Int32Array(units.length).fill(-1)
  const group = new Int32Array(units.length)
  const inside = new Uint8Array(units.length)
  const look = looks(kind.memoryGiB)
  const ratioAt = (unit: number): number =>
    alone ? cycles.shareAt(unit, chosen, group, inside) : cycles.ratioAt(unit, chosen, group)

  const area = (unit: number, periodMs: number): number => {
    for (const { spec } of options[unit]!)
      if (spec.loadMs <= periodMs * (1 + 1e-9)) return spec.degree * spec.loadMs
    return Number.POSITIVE_INFINITY
  }

  /** Whether the units still open could share what is left by area, each on GPUs that have room for a piece of it. */
  const hopeful = (members: readonly number[], at: number, limit: number): boolean => {
    let free = 0
    for (let gpu = 0; gpu < count; gpu += 1) free += limit - load[gpu]!
    for (let index = at; index < members.length; index += 1) {
      let least = Number.POSITIVE_INFINITY
      for (const { spec } of options[members[index]!]!) {
        if (spec.loadMs > limit) continue
        let room = 0
        for (let gpu = 0; gpu < count; gpu += 1) if (limit - load[gpu]! >= spec.loadMs) room += 1
        if (room < spec.degree) continue
        // Sorted by area, so the first that has room is the least.
        least = spec.degree * spec.loadMs
        break
      }
      free -= least
      if (free < 0) return false
    }
    return true
  }

  const hold = (spec: UnitOption, mask: number, sign: 1 | -1): void => {
    for (let gpu = 0; gpu < count; gpu += 1) if (mask & (1 << gpu)) load[gpu]! += sign * spec.loadMs
  }

  /** Depth-first over `members`; what is placed stays in `chosen` and `group` when it succeeds. */
  const place = (
    members: readonly number[],
    at: number,
    classes: readonly number[],
    taken: readonly number[],
    limit: number,
    left: { nodes: number },
  ): boolean => {
    if (at === members.length) return fitsMemory(members)
    if (!hopeful(members, at, limit)) return false
    const unit = members[at]!
    for (const { spec, index } of options[unit]!) {
      if (spec.loadMs > limit) continue
      for (const mask of masks[spec.degree]!) {
        left.nodes -= 1
        if (left.nodes <= 0) return false
        let fits = true
        for (let gpu = 0; gpu < count && fits; gpu += 1)
          if (mask & (1 << gpu)) fits = load[gpu]! + spec.loadMs <= limit
        if (!fits || !canonical(mask, classes) || !allowed(mask, taken, overlap)) continue
        chosen[unit] = index
        group[unit] = mask
        if (ratioAt(unit) <= limit && (tight === false || fitsMemory(members))) {
          hold(spec, mask, 1)
          const split: number[] = []
          for (const part of classes) {
            if (part & mask) split.push(part & mask)
            if (part & ~mask) split.push(part & ~mask)
          }
          const groups = taken.includes(mask) ? taken : [...taken, mask]
          if (place(members, at + 1, split, groups, limit, left)) return true
          hold(spec, mask, -1)
        }
        chosen[unit] = -1
      }
    }
    return false
  }

  /** Memory of what is placed so far; a state stands on a GPU once. */
  const fitsMemory = (members: readonly number[]): boolean => {
    if (!tight) return true
    memory.fill(0)
    held.fill(0)
    for (const unit of members) {
      if (chosen[unit] === -1) continue
      const spec = units[unit]!.options[chosen[unit]!]!
      for (let gpu = 0; gpu < count; gpu += 1) {
        if (!(group[unit]! & (1 << gpu))) continue
        memory[gpu]! += spec.ownGiB
        for (const { state, gib } of spec.states) {
          const before = held[gpu * stateCount + state]!
          if (gib <= before) continue
          memory[gpu]! += gib - before
          held[gpu * stateCount + state] = gib
        }
        if (memory[gpu]! > kind.memoryGiB[gpu]! * (1 + 1e-12)) return false
      }
    }
    return true
  }
  /** False where memory holds the units of a set whatever is done. */
  let tight = true
  const most = options.map((list) =>
    Math.max(
      0,
      ...list.map(({ spec }) => spec.states.reduce((sum, item) => sum + item.gib, spec.ownGiB)),
    ),
  )
  const smallest = Math.min(...kind.memoryGiB)

  /** By dual feasible functions, for each of which the images of a set must not exceed the number of GPUs. */
  const functions = dualFeasible()
  let imagesMs = 0
  let images: Float64Array[] = []
  const weights = (periodMs: number): Float64Array[] => {
    if (imagesMs !== periodMs) {
      imagesMs = periodMs
      images = functions.map((f) =>
        Float64Array.from(units, (_, unit) =>
          options[unit]!.reduce(
            (least, { spec }) =>
              spec.loadMs <= periodMs * (1 + 1e-9)
                ? Math.min(least, spec.degree * f(Math.min(1, spec.loadMs / periodMs)))
                : least,
            Number.POSITIVE_INFINITY,
          ),
        ),
      )
    }
    return images
  }
  const tooMuch = (members: readonly number[], periodMs: number): boolean =>
    weights(periodMs).some((image) => {
      let sum = 0
      for (const unit of members) sum += image[unit]!
      return sum > count * (1 + 1e-9)
    })

  const decide = (members: readonly number[], periodMs: number): Known => {
    const key = members.reduce((sum, unit) => sum + 2 ** unit, 0)
    const known = memo.get(key) ?? { noMs: 0, openMs: 0 }
    memo.set(key, known)
    if (known.noMs >= periodMs || known.openMs >= periodMs) return known
    if (known.fit !== undefined && known.fit.periodMs <= periodMs * (1 + 1e-9)) return known
    // A set that holds one without a fit has none.
    const hopeless =
      !alone &&
      members.length > 2 &&
      members.some((unit) => (memo.get(key - 2 ** unit)?.noMs ?? 0) >= periodMs)
    if (hopeless || tooMuch(members, periodMs)) {
      known.noMs = periodMs
      return known
    }
    const hard = [...members].sort((a, b) => area(b, periodMs) - area(a, periodMs) || a - b)
    load.fill(0)
    inside.fill(0)
    for (const unit of members) inside[unit] = 1
    tight = members.reduce((sum, unit) => sum + most[unit]!, 0) > smallest
    const left = { nodes: SET_NODES }
    const done = place(hard, 0, look, [], periodMs * (1 + 1e-9), left)
    budget.nodes -= 1 + (SET_NODES - left.nodes)
    if (done) {
      const cycle = members.map(ratioAt)
      known.fit = {
        periodMs: Math.max(...load, ...cycle),
        option: members.map((unit) => chosen[unit]!),
        mask: members.map((unit) => group[unit]!),
      }
    } else if (left.nodes > 0) known.noMs = periodMs
    else known.openMs = periodMs
    for (const unit of members) chosen[unit] = -1
    return known
  }

  return {
    area,
    weights,
    fit(members, periodMs) {
      const { fit } = decide(members, periodMs)
      return fit !== undefined && fit.periodMs <= periodMs * (1 + 1e-9) ? fit : undefined
    },
    refuted: (members, periodMs) => decide(members, periodMs).noMs >= periodMs,
  }
}
