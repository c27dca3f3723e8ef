/**
 * @module
 * A partial placement during a search, cheap to extend and to take back: units on groups, load and memory per GPU.
 */
import type { Machine } from '../bounds/machine.js'
import type { GpuPool } from './gpu-pools.js'
import type { Unit, UnitOption } from './units.js'

export interface SearchState {
  readonly units: readonly Unit[]
  readonly machine: Machine
  /** Per unit: the option it runs with, or -1. */
  readonly option: Int32Array
  /** Per unit: its group, or -1. Equal numbers mean the same GPUs. */
  readonly group: Int32Array
  readonly groups: { gpus: readonly number[]; users: number }[]
  /** Per GPU: work per batch in ms, GiB taken, units on it. */
  readonly loadMs: Float64Array
  readonly memoryGiB: Float64Array
  readonly users: Int32Array
  /** Per GPU and state: GiB of it that stand there. */
  readonly held: Float64Array
  readonly stateCount: number
  /** Counts changes; what is derived from the groups is good for one version. */
  version: number
  readonly pools: Map<string, { readonly version: number; readonly pools: GpuPool[] }>
}

export function emptyState(units: readonly Unit[], machine: Machine): SearchState {
  const numbers = units.flatMap((unit) => unit.options[0]!.states.map((item) => item.state))
  const stateCount = 1 + Math.max(-1, ...numbers)
  return {
    held: new Float64Array(machine.gpus.length * stateCount),
    stateCount,
    version: 0,
    pools: new Map(),
    units,
    machine,
    option: new Int32Array(units.length).fill(-1),
    group: new Int32Array(units.length).fill(-1),
    groups: [],
    loadMs: new Float64Array(machine.gpus.length),
    memoryGiB: new Float64Array(machine.gpus.length),
    users: new Int32Array(machine.gpus.length),
  }
}

/** What `assign` changed, for taking it back in reverse order. */
export interface Undo {
  readonly loadMs: readonly number[]
  readonly memoryGiB: readonly number[]
  readonly held: readonly number[]
}

/** GiB that a unit would add to a GPU: its own, and what its states need beyond what stands there. */
export function addedGiB(state: SearchState, option: UnitOption, gpu: number): number {
  let sum = option.ownGiB
  for (const { state: index, gib } of option.states)
    sum += Math.max(0, gib - state.held[gpu * state.stateCount + index]!)
  return sum
}

/** Puts a unit on GPUs (ascending). */
export function assign(
  state: SearchState,
  unit: number,
  option: number,
  gpus: readonly number[],
): Undo {
  state.version += 1
  let group = state.groups.findIndex(
    (other) => other.gpus.length === gpus.length && other.gpus.every((gpu, i) => gpu === gpus[i]),
  )
  if (group === -1) group = state.groups.push({ gpus, users: 0 }) - 1
  state.groups[group]!.users += 1
  state.option[unit] = option
  state.group[unit] = group
  const spec = state.units[unit]!.options[option]!
  const undo = {
    loadMs: gpus.map((gpu) => state.loadMs[gpu]!),
    memoryGiB: gpus.map((gpu) => state.memoryGiB[gpu]!),
    held: gpus.flatMap((gpu) =>
      spec.states.map((item) => state.held[gpu * state.stateCount + item.state]!),
    ),
  }
  for (const gpu of gpus) {
    state.loadMs[gpu]! += spec.loadMs
    state.memoryGiB[gpu]! += addedGiB(state, spec, gpu)
    state.users[gpu]! += 1
    for (const { state: index, gib } of spec.states) {
      const at = gpu * state.stateCount + index
      if (gib > state.held[at]!) state.held[at] = gib
    }
  }
  return undo
}

/** Takes the unit assigned last back. Saved sums are put back, so that rounding never builds up over a long search. */
export function unassign(state: SearchState, unit: number, undo: Undo): void {
  state.version += 1
  const group = state.groups[state.group[unit]!]!
  const { states } = state.units[unit]!.options[state.option[unit]!]!
  let saved = 0
  for (const gpu of group.gpus)
    for (const item of states) {
      state.held[gpu * state.stateCount + item.state] = undo.held[saved]!
      saved += 1
    }
  group.users -= 1
  state.option[unit] = -1
  state.group[unit] = -1
  while (state.groups.length > 0 && state.groups.at(-1)!.users === 0) state.groups.pop()
  group.gpus.forEach((gpu, index) => {
    state.users[gpu]! -= 1
    state.loadMs[gpu] = undo.loadMs[index]!
    state.memoryGiB[gpu] = undo.memoryGiB[index]!
  })
}

export function cloneState(state: SearchState): SearchState {
  return {
    ...state,
    option: state.option.slice(),
    group: state.group.slice(),
    groups: state.groups.map((group) => ({ ...group })),
    loadMs: state.loadMs.slice(),
    memoryGiB: state.memoryGiB.slice(),
    users: state.users.slice(),
    held: state.held.slice(),
    pools: new Map(),
  }
}

/** Copies the assignment, not the arrays. */
export interface Assignment {
  readonly option: readonly number[]
  readonly gpus: readonly (readonly number[])[]
}

export function snapshot(state: SearchState): Assignment {
  return {
    option: [...state.option],
    gpus: [...state.group].map((group) => (group === -1 ? [] : state.groups[group]!.gpus)),
  }
}

/** A state with these units placed and the others open. */
export function stateOf(
  units: readonly Unit[],
  machine: Machine,
  assignment: Assignment,
  keep: (unit: number) => boolean = () => true,
): SearchState {
  const state = emptyState(units, machine)
  assignment.gpus.forEach((gpus, unit) => {
    if (gpus.length > 0 && keep(unit)) assign(state, unit, assignment.option[unit]!, gpus)
  })
  return state
}
