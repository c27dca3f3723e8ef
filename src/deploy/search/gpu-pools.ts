/**
 * @module
 * The GPUs of one kind, host by host, with the groups that stand on them: as a tree (for groups that nest) and as
 * classes of GPUs that carry the same groups. Built once per placement and kind.
 */
import type { SearchState } from './search-state.js'

export interface GroupNode {
  readonly gpus: readonly number[]
  /** GPUs of no child. */
  readonly own: readonly number[]
  readonly children: readonly GroupNode[]
}

export interface GpuPool {
  readonly size: number
  /** All GPUs of the pool; not a group. */
  readonly root: GroupNode
  /** Groups in use, small ones first. Groups that cut each other make no tree: then only `classes` means something. */
  readonly groups: readonly GroupNode[]
  readonly classes: readonly (readonly number[])[]
}

/** One pool per host; hosts in order. */
export function gpuPools(state: SearchState, hardware: string): GpuPool[] {
  const cached = state.pools.get(hardware)
  if (cached?.version === state.version) return cached.pools
  const hosts = new Map<number, number[]>()
  state.machine.gpus.forEach((gpu, index) => {
    if (gpu.hardware !== hardware) return
    const list = hosts.get(gpu.host)
    if (list === undefined) hosts.set(gpu.host, [index])
    else list.push(index)
  })
  const used = state.groups.filter((group) => group.users > 0).map((group) => group.gpus)
  used.sort((a, b) => a.length - b.length)
  const pools = [...hosts.values()].map((gpus) => {
    const here = used.filter((group) => gpus.includes(group[0]!))
    return poolOf(state, gpus, here)
  })
  state.pools.set(hardware, { version: state.version, pools })
  return pools
}

function poolOf(
  state: SearchState,
  gpus: readonly number[],
  groups: readonly (readonly number[])[],
): GpuPool {
  const children: number[][] = groups.map(() => [])
  const top: number[] = []
  groups.forEach((group, index) => {
    // Small ones come first, so the first larger one that holds it is its parent.
    const parent = groups.findIndex((other, at) => at > index && other.includes(group[0]!))
    if (parent === -1) top.push(index)
    else children[parent]!.push(index)
  })
  const nodes: GroupNode[] = []
  groups.forEach((group, index) => {
    const below = children[index]!.map((child) => nodes[child]!)
    nodes.push({ gpus: group, own: without(group, below), children: below })
  })
  const roots = top.map((index) => nodes[index]!)
  const classes = new Map<string, number[]>()
  for (const gpu of gpus) {
    const inside = groups.flatMap((group, index) => (group.includes(gpu) ? [index] : []))
    const key = `${inside.join('.')}/${state.machine.gpus[gpu]!.memoryGiB}`
    const list = classes.get(key)
    if (list === undefined) classes.set(key, [gpu])
    else list.push(gpu)
  }
  return {
    size: gpus.length,
    root: { gpus, own: without(gpus, roots), children: roots },
    groups: nodes,
    classes: [...classes.values()],
  }
}

function without(gpus: readonly number[], nodes: readonly GroupNode[]): number[] {
  return gpus.filter((gpu) => !nodes.some((node) => node.gpus.includes(gpu)))
}
