/**
 * @module
 * The best placements found so far, each kind once: placements that differ only in which of two equal GPUs is which
 * are one.
 */
import { compareKeys, type Key } from './objective.js'
import type { Score } from './scorer.js'
import { type Assignment, type SearchState, snapshot } from './search-state.js'

export interface Found {
  readonly key: Key
  readonly score: Score
  readonly assignment: Assignment
  /** Equal for placements that are the same up to equal GPUs. */
  readonly shape: string
}

export interface BestList {
  readonly found: readonly Found[]
  /** Whether something with a key of at least this can still get in. */
  admits(bound: Key): boolean
  offer(state: SearchState, key: Key, score: Score): void
  /** The key to beat once the list is full. */
  readonly worst: Key | undefined
}

export function bestList(keep: number): BestList {
  const found: Found[] = []
  return {
    found,
    get worst() {
      return found.length < keep ? undefined : found.at(-1)!.key
    },
    admits: (bound) => found.length < keep || compareKeys(bound, found.at(-1)!.key) < 0,
    offer(state, key, score) {
      if (found.length >= keep && compareKeys(key, found.at(-1)!.key) >= 0) return
      const shape = shapeOf(state)
      if (found.some((other) => other.shape === shape)) return
      found.push({ key, score, assignment: snapshot(state), shape })
      found.sort((a, b) => compareKeys(a.key, b.key))
      if (found.length > keep) found.pop()
    },
  }
}

/** Per host, how many GPUs carry which units; hosts and GPUs in sorted order. */
export function shapeOf(state: SearchState): string {
  const hosts = new Map<number, string[]>()
  state.machine.gpus.forEach((gpu, index) => {
    const units = state.units.flatMap((_, unit) =>
      state.group[unit] !== -1 && state.groups[state.group[unit]!]!.gpus.includes(index)
        ? [unit]
        : [],
    )
    const list = hosts.get(gpu.host) ?? []
    hosts.set(gpu.host, list)
    list.push(`${gpu.hardware}:${units.join('+')}`)
  })
  return [...hosts.values()]
    .map((list) => list.sort().join(','))
    .sort()
    .join(' / ')
}
