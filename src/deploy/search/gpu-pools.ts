/**
 * @module
 * The GPUs of one kind, host by host, with the groups that stand on them: as a tree (for groups that nest) and as
 * classes of GPUs that carry the same groups. Built once per placement and kind.
 */
import type { Machine } from '../bounds/machine.js'
import type { SearchState } from './search-state.js'

export interface GroupNode {
  readonly gpus: readonly number[]
  /** GPUs of no child. */
  readonly own: readonly number[]
  readonly children: readonly GroupNode[]
  /** Only a part of a group that spans hosts: room for what stands inside it, and nothing to build on. */
  readonly cut: boolean
}

export interface GpuPool {
  readonly size: number
  /** All GPUs of the pool; not a group. */
  readonly root: GroupNode
  /** Groups in use, small ones first. Groups that cut each other make no tree: then only `classes` means something. */
  readonly groups: readonly GroupNode[]
  readonly classes: () => readonly (readonly number[])[]
}

/** One pool per host, hosts in order; or all GPUs of the kind as one pool, for groups wider than a host. */
export function gpuPools(state: SearchState, hardware: string, joined: boolean): GpuPool[] {
  const key = `${hardware}${joined ? '/all' : ''}`
  const cached = state.pools.get(key)
  if (cached?.version === state.version) return cached.pools
  const hosts = [...hostsOf(state.machine, hardware).values()]
  const used = state.groups.filter((group) => group.users > 0).map((group) => group.gpus)
  const pools = (joined ? [hosts.flat()] : hosts).map((gpus) => {
    const here = used.flatMap((group) => {
      const inside = group.filter((gpu) => gpus.includes(gpu))
      return inside.length === 0 ? [] : [{ gpus: inside, cut: inside.length < group.length }]
    })
    // Small ones first; of equal ones the whole group before the part of a wider one.
    here.sort((a, b) => a.gpus.length - b.gpus.length || Number(a.cut) - Number(b.cut))
    return poolOf(state, gpus, here)
  })
  state.pools.set(key, { version: state.version, pools })
  return pools
}

const HOSTS = new WeakMap<Machine, Map<string, Map<number, readonly number[]>>>()

/** GPUs of a kind by host; the same for every placement on a machine. */
function hostsOf(machine: Machine, hardware: string): Map<number, readonly number[]> {
  const kinds = HOSTS.get(machine) ?? new Map<string, Map<number, readonly number[]>>()
  HOSTS.set(machine, kinds)
  const known = kinds.get(hardware)
  if (known !== undefined) return known
  const hosts = new Map<number, number[]>()
  machine.gpus.forEach((gpu, index) => {
    if (gpu.hardware !== hardware) return
    const list = hosts.get(gpu.host)
    if (list === undefined) hosts.set(gpu.host, [index])
    else list.push(index)
  })
  kinds.set(hardware, hosts)
  return hosts
}

function poolOf(
  state: SearchState,
  gpus: readonly number[],
  groups: readonly Pick<GroupNode, 'gpus' | 'cut'>[],
): GpuPool {
  const children: number[][] = groups.map(() => [])
  const top: number[] = []
  groups.forEach((group, index) => {
    // Small ones come first, so the first later one that holds it is its parent.
    const parent = groups.findIndex(
      (other, at) => at > index && other.gpus.includes(group.gpus[0]!),
    )
    if (parent === -1) top.push(index)
    else children[parent]!.push(index)
  })
  const nodes: GroupNode[] = []
  groups.forEach((group, index) => {
    const below = children[index]!.map((child) => nodes[child]!)
    nodes.push({ ...group, own: without(group.gpus, below), children: below })
  })
  const roots = top.map((index) => nodes[index]!)
  return {
    size: gpus.length,
    root: { gpus, own: without(gpus, roots), children: roots, cut: false },
    groups: nodes,
    classes: () =>
      classesOf(
        state,
        gpus,
        groups.map((group) => group.gpus),
      ),
  }
}

function classesOf(
  state: SearchState,
  gpus: readonly number[],
  groups: readonly (readonly number[])[],
): number[][] {
  const classes = new Map<string, number[]>()
  for (const gpu of gpus) {
    const inside = groups.flatMap((group, index) => (group.includes(gpu) ? [index] : []))
    const key = `${inside.join('.')}/${state.machine.gpus[gpu]!.memoryGiB}`
    const list = classes.get(key)
    if (list === undefined) classes.set(key, [gpu])
    else list.push(gpu)
  }
  return [...classes.values()]
}

function without(gpus: readonly number[], nodes: readonly GroupNode[]): number[] {
  return gpus.filter((gpu) => !nodes.some((node) => node.gpus.includes(gpu)))
}
