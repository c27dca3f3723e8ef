/**
 * @module
 * Groups of GPUs of one host as bit masks: which may stand beside which, and which look the same.
 */
import type { OverlapRule } from './candidate-groups.js'

/** GPUs that look alike at the start: those with the same memory. */
export function looks(memoryGiB: readonly number[]): number[] {
  const classes = new Map<number, number>()
  memoryGiB.forEach((gib, gpu) => {
    classes.set(gib, (classes.get(gib) ?? 0) | (1 << gpu))
  })
  return [...classes.values()]
}

/** Whether a group may stand beside those that are there. */
export function allowed(mask: number, taken: readonly number[], overlap: OverlapRule): boolean {
  if (overlap === 'any') return true
  for (const other of taken) {
    const both = mask & other
    if (both === 0 || mask === other) continue
    if (overlap === 'disjoint' || (both !== mask && both !== other)) return false
  }
  return true
}

/** Of GPUs that carry the same groups, the first ones: all other choices look the same. */
export function canonical(mask: number, classes: readonly number[]): boolean {
  for (const part of classes) {
    const inside = mask & part
    if (inside === 0 || inside === part) continue
    // Everything of this class below the highest GPU taken must be taken too.
    const below = part & ((1 << (32 - Math.clz32(inside))) - 1)
    if (below !== inside) return false
  }
  return true
}

export function bits(mask: number): number {
  let count = 0
  for (let rest = mask; rest > 0; rest &= rest - 1) count += 1
  return count
}
