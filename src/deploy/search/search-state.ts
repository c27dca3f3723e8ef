/**
 * @module
 * A partial placement during a search, cheap to extend and to take back: units on groups, load and memory per GPU.
 */
import type { Machine } from '../bounds/machine.js'
import type { Unit } from './units.js'

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
}

export function emptyState(units: readonly Unit[], machine: Machine): SearchState {
  return {
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
}

/** Puts a unit on GPUs (ascending). */
export function assign(
  state: SearchState,
  unit: number,
  option: number,
  gpus: readonly number[],
): Undo {
  let group = state.groups.findIndex(
    (other) => other.gpus.length === gpus.length && other.gpus.every((gpu, i) => gpu === gpus[i]),
  )
  if (group === -1) group = state.groups.push({ gpus, users: 0 }) - 1
  state.groups[group]!.users += 1
  state.option[unit] = option
  state.group[unit] = group
  const undo = {
    loadMs: gpus.map((gpu) => state.loadMs[gpu]!),
    memoryGiB: gpus.map((gpu) => state.memoryGiB[gpu]!),
  }
  const { loadMs, memoryGiB } = state.units[unit]!.options[option]!
  for (const gpu of gpus) {
    state.loadMs[gpu]! += loadMs
    state.memoryGiB[gpu]! += memoryGiB
    state.users[gpu]! += 1
  }
  return undo
}

/** Takes the unit assigned last back. Saved sums are put back, so that rounding never builds up over a long search. */
export function unassign(state: SearchState, unit: number, undo: Undo): void {
  const group = state.groups[state.group[unit]!]!
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
