/**
 * @module
 * The groups a unit may take, one representative of each kind: GPUs of one host and hardware that carry the same groups
 * are interchangeable, and so are hosts that carry nothing. A group stays inside a host when some host is large enough.
 *
 * `nested` (the default) allows equal, disjoint and nested groups: those pack without loss (`schedule/`), and they are
 * what process groups of real engines look like. `any` allows every overlap, `disjoint` only equal or disjoint ones.
 * With `overstep`, memory is no limit (for naming what is missing).
 */
import { HorizonError } from '../../core/errors.js'
import { widestHost } from '../bounds/machine.js'
import { type GpuPool, gpuPools } from './gpu-pools.js'
import { addedGiB, type SearchState } from './search-state.js'
import type { UnitOption } from './units.js'

/** With every overlap allowed, groups grow faster than anybody can look at. */
const MAX_SETS = 100_000

export type OverlapRule = 'disjoint' | 'nested' | 'any'

export function candidateGroups(
  state: SearchState,
  option: UnitOption,
  overlap: OverlapRule,
  overstep = false,
): (readonly number[])[] {
  const { degree } = option
  // A group wider than every host has to span hosts: then all of them are one pool.
  const spans = degree > widestHost(state.machine, option.hardware)
  const pools = gpuPools(state, option.hardware, spans)
  const found: (readonly number[])[] = []
  const empty = new Set<string>()
  for (const pool of pools) {
    if (pool.size < degree) continue
    if (pool.groups.length === 0) {
      const look = pool.root.gpus.map((gpu) => state.machine.gpus[gpu]!.memoryGiB).join()
      if (empty.has(look)) continue
      empty.add(look)
    }
    if (overlap === 'any') anySets(pool, degree, found)
    else nestedSets(pool, degree, overlap, found)
  }
  if (overstep) return found
  const { gpus } = state.machine
  return found.filter((set) =>
    set.every(
      (gpu) =>
        state.memoryGiB[gpu]! + addedGiB(state, option, gpu) <= gpus[gpu]!.memoryGiB * (1 + 1e-12),
    ),
  )
}

/**
 * Groups that cut no other: below the smallest group that holds the new one, it is made of whole child groups and some
 * GPUs of no child.
 */
function nestedSets(
  pool: GpuPool,
  degree: number,
  overlap: OverlapRule,
  found: (readonly number[])[],
): void {
  for (const parent of [pool.root, ...pool.groups]) {
    const whole = parent !== pool.root && !parent.cut && parent.gpus.length === degree
    if (whole) found.push(parent.gpus)
    if (parent.gpus.length < degree || whole) continue
    if (overlap === 'disjoint' && parent !== pool.root) continue
    const children = overlap === 'disjoint' ? [] : parent.children.filter((child) => !child.cut)
    const visit = (index: number, taken: readonly number[], count: number): void => {
      const rest = degree - taken.length
      const alone = count === 1 && rest === 0
      // A single whole child is that child's group, which its own turn yields.
      if (!alone && rest <= parent.own.length)
        found.push([...taken, ...parent.own.slice(0, rest)].sort((a, b) => a - b))
      for (let next = index; next < children.length; next += 1)
        if (children[next]!.gpus.length <= rest)
          visit(next + 1, [...taken, ...children[next]!.gpus], count + 1)
    }
    visit(0, [], 0)
  }
}

/** Every set up to exchanging GPUs that carry the same groups. */
function anySets(pool: GpuPool, degree: number, found: (readonly number[])[]): void {
  const classes = pool.classes()
  const visit = (index: number, taken: readonly number[]): void => {
    const rest = degree - taken.length
    if (rest === 0) {
      if (found.length >= MAX_SETS)
        throw new HorizonError('ERR_DEPLOY_OVERLAP', 'too many ways for groups to overlap', {
          field: 'overlap',
          expected: `fewer than ${MAX_SETS} groups of ${degree} GPUs to try for one node`,
          got: `more, on ${pool.size} GPUs`,
          hint: "Use 'nested'",
        })
      found.push([...taken].sort((a, b) => a - b))
      return
    }
    if (index === classes.length) return
    const { [index]: gpus } = classes
    for (let take = Math.min(rest, gpus!.length); take >= 0; take -= 1)
      visit(index + 1, [...taken, ...gpus!.slice(0, take)])
  }
  visit(0, [])
}
