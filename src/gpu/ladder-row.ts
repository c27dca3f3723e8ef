/**
 * @module
 * Cuts one row of a ladder: the descriptors of both sides, then the contexts of the sides that this process runs.
 */

import { CU_RESULT } from './abi.js'
import type { CudaLibrary } from './cuda.js'
import type { GpuDevice } from './device.js'
import { createGreenContext, type GreenContext } from './green-context.js'
import type { DescribedRow, RowMethod } from './ladder-description.js'
import { isGpuError } from './result.js'
import {
  describeResources,
  readCounts,
  type SmResources,
  type Split,
  splitByCount,
  splitOne,
} from './sm-resource.js'

/** Which side of the split a process runs. */
export type Side = 'shared' | 'downstream'

/** What every row of one ladder is cut from. */
export interface RowMaterial {
  readonly cuda: CudaLibrary
  readonly device: GpuDevice
  readonly priority: number
  readonly totalSms: number
  /** The whole device, in slot 0. */
  readonly input: SmResources
  /** The one split. */
  readonly split: Split
  readonly groupSms: number
  /** Sides to create contexts for; none in a dry run. */
  readonly sides: readonly Side[]
}

/** A row with what was created for it. */
export interface CutRow extends DescribedRow {
  readonly contexts: Readonly<Partial<Record<Side, GreenContext>>>
}

/** The ways to cut a row, in the order they are tried. */
export function methodsOf(cuda: CudaLibrary): readonly RowMethod[] {
  return cuda.has('cuDevSmResourceSplit') ? ['groups', 'pair', 'split'] : ['groups', 'pair']
}

/** Cuts a row by one method. A row that does not use every SM is refused: complementary sides sum to the device. */
export function cutRow(material: RowMaterial, groups: number, method: RowMethod): CutRow | string {
  const { cuda, split, input, totalSms } = material
  const wanted = groups * material.groupSms
  if (method === 'groups') {
    return cutFrom(material, groups, method, split, {
      shared: [0, groups, false],
      downstream: [groups, split.numGroups, true],
    })
  }
  const own =
    method === 'pair' ? splitByCount(cuda, input, 1, wanted) : splitOne(cuda, input, wanted)
  try {
    const made = readCounts(own.groups.buffer.u32, 0).numSms
    if (made !== wanted) return `${wanted} SMs asked, ${made} made of ${totalSms}`
    return cutFrom(material, groups, method, own, {
      shared: [0, 1, false],
      downstream: [1, 1, true],
    })
  } finally {
    own.free()
  }
}

type Range = readonly [from: number, to: number, withRemaining: boolean]

function cutFrom(
  material: RowMaterial,
  groups: number,
  method: RowMethod,
  split: Split,
  ranges: Readonly<Record<Side, Range>>,
): CutRow | string {
  const { cuda, device, totalSms, sides } = material
  const planned = {
    shared: sumOf(split, ranges.shared),
    downstream: sumOf(split, ranges.downstream),
  }
  if (planned.shared + planned.downstream !== totalSms)
    return `${planned.shared} + ${planned.downstream} SMs are not the ${totalSms} of the device`
  // Both descriptors are asked for whatever sides run here, so that every process meets the same refusal.
  const descriptors: Record<Side, bigint> = {
    shared: describeResources(cuda, split, ...ranges.shared),
    downstream: describeResources(cuda, split, ...ranges.downstream),
  }
  const contexts: Partial<Record<Side, GreenContext>> = {}
  try {
    for (const side of sides) {
      const context = createGreenContext(cuda, device, descriptors[side], material.priority)
      contexts[side] = context
      if (context.numSms !== planned[side]) {
        closeAll(contexts)
        return `the ${side} side was planned with ${planned[side]} SMs and has ${context.numSms}`
      }
    }
  } catch (error) {
    closeAll(contexts)
    throw error
  }
  return {
    method,
    groups,
    sharedSms: planned.shared,
    downstreamSms: planned.downstream,
    contexts,
  }
}

/** True for the results by which a driver refuses a count rather than the whole idea. */
export function isRefusal(error: unknown): boolean {
  return (
    isGpuError(error) &&
    // R550 may answer "invalid resource type" for several resources in one descriptor; from any other call it ends the idea.
    ((error.call === 'cuDevResourceGenerateDesc' &&
      error.result === CU_RESULT.CUDA_ERROR_INVALID_RESOURCE_TYPE) ||
      error.result === CU_RESULT.CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION ||
      error.result === CU_RESULT.CUDA_ERROR_INVALID_VALUE)
  )
}

function sumOf(split: Split, [from, to, withRemaining]: Range): number {
  let sum = withRemaining ? readCounts(split.remaining.buffer.u32, 0).numSms : 0
  for (let i = from; i < to; i++) sum += readCounts(split.groups.buffer.u32, i).numSms
  return sum
}

/** Destroys what was created for a row. */
export function closeRow(row: CutRow): void {
  closeAll(row.contexts)
}

function closeAll(contexts: CutRow['contexts']): void {
  contexts.shared?.close()
  contexts.downstream?.close()
}
