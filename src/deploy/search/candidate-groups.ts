/**
 * @module
 * The groups a unit may take, one representative of each kind: GPUs of one host and hardware that carry the same groups
 * are interchangeable, and so are hosts that look alike. A group stays inside a host when a host is large enough.
 *
 * `nested` (the default) allows equal, disjoint and nested groups: those pack without loss (`schedule/`), and they are
 * what process groups of real engines look like. `any` allows every overlap, `disjoint` only equal or disjoint ones.
 * With `overstep`, memory is no limit (for naming what is missing).
 */
import type { Machine } from '../bounds/machine.js'
import { addedGiB, type SearchState } from './search-state.js'
import type { UnitOption } from './units.js'

export type OverlapRule = 'disjoint' | 'nested' | 'any'

interface GpuClass {
  readonly gpus: readonly number[]
  /** Groups that contain these GPUs. */
  readonly inside: readonly number[]
}

export function candidateGroups(
  state: SearchState,
  option: UnitOption,
  overlap: OverlapRule,
  overstep = false,
): (readonly number[])[] {
  const hosts = hostsOf(state, option, overstep)
  const largest = widestHost(state.machine, option.hardware)
  // A group wider than every host has to span hosts: then all of them are one pool.
  const pools = option.degree <= largest ? hosts : [hosts.flat()]
  const seen = new Set<string>()
  const found: (readonly number[])[] = []
  for (const classes of pools) {
    if (sizeOf(classes) < option.degree) continue
    const look = classes
      .map(
        (item) => `${item.inside.join('.')}x${item.gpus.length}m${state.memoryGiB[item.gpus[0]!]}`,
      )
      .join('|')
    // Two hosts with the same groups never look alike unless they carry none: group numbers are unique.
    if (seen.has(look)) continue
    seen.add(look)
    pick(state, classes, option.degree, overlap, found)
  }
  return found
}

function hostsOf(state: SearchState, option: UnitOption, overstep: boolean): GpuClass[][] {
  const hosts = new Map<number, Map<string, { gpus: number[]; inside: number[] }>>()
  state.machine.gpus.forEach((gpu, index) => {
    if (gpu.hardware !== option.hardware) return
    const taken = state.memoryGiB[index]! + addedGiB(state, option, index)
    const fits = taken <= gpu.memoryGiB * (1 + 1e-12)
    if (!fits && !overstep) return
    const inside = state.groups.flatMap((group, number) =>
      group.users > 0 && group.gpus.includes(index) ? [number] : [],
    )
    const key = `${inside.join('.')}/${gpu.memoryGiB}`
    const host = hosts.get(gpu.host) ?? new Map()
    hosts.set(gpu.host, host)
    const entry = host.get(key) ?? { gpus: [], inside }
    host.set(key, entry)
    entry.gpus.push(index)
  })
  return [...hosts.values()].map((host) => [...host.values()])
}

function pick(
  state: SearchState,
  classes: readonly GpuClass[],
  degree: number,
  overlap: OverlapRule,
  found: (readonly number[])[],
): void {
  const counts = new Array<number>(classes.length).fill(0)
  const visit = (index: number, rest: number): void => {
    if (rest === 0) {
      if (fits(state, classes, counts, degree, overlap))
        found.push(
          classes.flatMap((item, at) => item.gpus.slice(0, counts[at])).sort((a, b) => a - b),
        )
      return
    }
    if (index === classes.length) return
    for (let take = Math.min(rest, classes[index]!.gpus.length); take >= 0; take -= 1) {
      counts[index] = take
      visit(index + 1, rest - take)
    }
    counts[index] = 0
  }
  visit(0, degree)
}

/** Whether the new group stands to every old one as the rule wants. */
function fits(
  state: SearchState,
  classes: readonly GpuClass[],
  counts: readonly number[],
  degree: number,
  overlap: OverlapRule,
): boolean {
  if (overlap === 'any') return true
  return state.groups.every((group, number) => {
    if (group.users === 0) return true
    let common = 0
    classes.forEach((item, at) => {
      if (item.inside.includes(number)) common += counts[at]!
    })
    if (common === 0) return true
    if (common === degree && common === group.gpus.length) return true
    return overlap === 'nested' && (common === degree || common === group.gpus.length)
  })
}

/** GPUs of a kind on the host that has most of them. */
function widestHost(machine: Machine, hardware: string): number {
  const sizes = new Map<number, number>()
  for (const gpu of machine.gpus)
    if (gpu.hardware === hardware) sizes.set(gpu.host, (sizes.get(gpu.host) ?? 0) + 1)
  return Math.max(0, ...sizes.values())
}

function sizeOf(classes: readonly GpuClass[]): number {
  return classes.reduce((sum, item) => sum + item.gpus.length, 0)
}
