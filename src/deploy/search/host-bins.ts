/**
 * @module
 * A machine as bins: the GPUs of one kind on one host, with a packer that bins of the same make share. Absent where the
 * view does not hold: groups wider than a host, hosts too wide for masks, more units than a packer names.
 */
import type { Machine } from '../bounds/machine.js'
import type { OverlapRule } from './candidate-groups.js'
import {
  type HostPacker,
  hostPacker,
  MAX_HOST_GPUS,
  MAX_UNITS,
  type PackBudget,
} from './host-packing.js'
import type { CyclesOfUnits } from './unit-cycles.js'
import type { Unit } from './units.js'

export interface HostBin {
  /** Indices in the machine, ascending. */
  readonly gpus: readonly number[]
  /** Equal for bins of the same make. */
  readonly kind: number
  readonly packer: HostPacker
}

export function hostBins(
  machine: Machine,
  units: readonly Unit[],
  cycles: CyclesOfUnits,
  overlap: OverlapRule,
  budget: PackBudget,
  alone: boolean,
): HostBin[] | undefined {
  if (units.length > MAX_UNITS) return undefined
  const hosts = new Map<string, number[]>()
  machine.gpus.forEach((gpu, index) => {
    const key = `${gpu.host}/${gpu.hardware}`
    hosts.set(key, [...(hosts.get(key) ?? []), index])
  })
  const kinds = new Map<string, { readonly kind: number; readonly packer: HostPacker }>()
  const bins = [...hosts.values()].map((gpus): HostBin | undefined => {
    if (gpus.length > MAX_HOST_GPUS) return undefined
    // By memory, so that hosts which differ in the order of their GPUs alone are of one kind.
    const sorted = [...gpus].sort(
      (a, b) => machine.gpus[a]!.memoryGiB - machine.gpus[b]!.memoryGiB || a - b,
    )
    const { hardware } = machine.gpus[sorted[0]!]!
    const memoryGiB = sorted.map((gpu) => machine.gpus[gpu]!.memoryGiB)
    const name = `${hardware}/${memoryGiB.join()}`
    const known = kinds.get(name) ?? {
      kind: kinds.size,
      packer: hostPacker({ hardware, memoryGiB }, units, cycles, overlap, budget, alone),
    }
    kinds.set(name, known)
    return { gpus: sorted, ...known }
  })
  const widest = new Map<string, number>()
  for (const bin of bins) {
    if (bin === undefined) return undefined
    const { hardware } = machine.gpus[bin.gpus[0]!]!
    widest.set(hardware, Math.max(widest.get(hardware) ?? 0, bin.gpus.length))
  }
  const spans = units.some((unit) =>
    unit.options.some((option) => option.degree > widest.get(option.hardware)!),
  )
  return spans ? undefined : (bins as HostBin[])
}
