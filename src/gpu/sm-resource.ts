/**
 * @module
 * SM resources of the driver: query, split, descriptor. The structs stay in native memory and are copied whole; only the
 * few numbers in `abi.ts` are read out of them.
 */
import { allocateNative, type NativeBuffer } from '../native/native-buffer.js'
import { CU, CU_DEV_RESOURCE, CU_GROUP_PARAMS } from './abi.js'
import type { CudaLibrary } from './cuda.js'
import type { GpuDevice } from './device.js'

const SIZE = CU_DEV_RESOURCE.bytes
const WORD = {
  type: CU_DEV_RESOURCE.fields.type.offset / 4,
  count: CU_DEV_RESOURCE.fields['sm.smCount'].offset / 4,
  min: CU_DEV_RESOURCE.fields['sm.minSmPartitionSize'].offset / 4,
  align: CU_DEV_RESOURCE.fields['sm.smCoscheduledAlignment'].offset / 4,
}
/** More SMs than any part has; a number above it is not a count but a broken buffer. */
const MAX_SMS = 4096

/** An array of `CUdevResource` in native memory. */
export interface SmResources {
  readonly buffer: NativeBuffer
  readonly capacity: number
  pointer(index: number): bigint
}

/** The numbers of one resource. */
export interface SmCounts {
  readonly numSms: number
  /** Fewest SMs of a partition, and what a count must be a multiple of. */
  readonly minSms: number
  readonly alignSms: number
}

/** Room for `capacity` resources; free its buffer when the contexts made from it exist. */
export function allocateResources(capacity: number): SmResources {
  const buffer = allocateNative(capacity * SIZE)
  return { buffer, capacity, pointer: (index) => buffer.pointer + BigInt(index * SIZE) }
}

/**
 * Reads one resource. A resource of another type, or an impossible count, reads as 0 SMs: the driver marks an empty remainder
 * by type INVALID, and nothing that a buffer may hold should become a ladder level by accident.
 */
export function readCounts(words: Uint32Array, index: number): SmCounts {
  const base = (index * SIZE) / 4
  const at = (word: number): number => words[base + word] ?? 0
  const count = at(WORD.count)
  const isSm = at(WORD.type) === CU.CU_DEV_RESOURCE_TYPE_SM && count <= MAX_SMS
  const bounded = (value: number): number => (isSm && value <= MAX_SMS ? value : 0)
  return {
    numSms: isSm ? count : 0,
    minSms: bounded(at(WORD.min)),
    alignSms: bounded(at(WORD.align)),
  }
}

/** The device's SM resource, into slot 0. Drivers before 13.0 leave the granularity at 0: then it is read off the table. */
export function queryDeviceSms(cuda: CudaLibrary, device: GpuDevice, into: SmResources): SmCounts {
  into.buffer.u8.fill(0)
  cuda.call('cuDeviceGetDevResource', device.handle, into.pointer(0), CU.CU_DEV_RESOURCE_TYPE_SM)
  const counts = readCounts(into.buffer.u32, 0)
  const table = granularityOf(device.ccMajor)
  return {
    numSms: counts.numSms,
    minSms: counts.minSms || table.minSms,
    alignSms: counts.alignSms || table.alignSms,
  }
}

/** Programming guide, appendix "compute capabilities", row on SM partitions. */
function granularityOf(ccMajor: number): {
  readonly minSms: number
  readonly alignSms: number
} {
  if (ccMajor >= 9) return { minSms: 8, alignSms: 8 }
  if (ccMajor === 8) return { minSms: 4, alignSms: 2 }
  return { minSms: 2, alignSms: 2 }
}

/** One call of the split by count: `groups` equal groups, and what is left. */
export interface Split {
  readonly groups: SmResources
  /** Made by the driver; at most what was asked. */
  readonly numGroups: number
  readonly remaining: SmResources
  free(): void
}

/** Splits slot 0 of `input` into at most `maxGroups` groups of at least `minCount` SMs. */
export function splitByCount(
  cuda: CudaLibrary,
  input: SmResources,
  maxGroups: number,
  minCount: number,
): Split {
  const groups = allocateResources(maxGroups)
  const remaining = allocateResources(1)
  const free = (): void => {
    groups.buffer.free()
    remaining.buffer.free()
  }
  try {
    cuda.out.u32[0] = maxGroups
    cuda.call(
      'cuDevSmResourceSplitByCount',
      groups.pointer(0),
      cuda.out.pointer,
      input.pointer(0),
      remaining.pointer(0),
      0,
      minCount,
    )
    return { groups, numGroups: Math.min(cuda.out.u32[0], maxGroups), remaining, free }
  } catch (error) {
    free()
    throw error
  }
}

/** One group of exactly `numSms` and the rest, by the heterogeneous split of CUDA 13.1. */
export function splitOne(cuda: CudaLibrary, input: SmResources, numSms: number): Split {
  const groups = allocateResources(1)
  const remaining = allocateResources(1)
  const params = allocateNative(CU_GROUP_PARAMS.bytes)
  const free = (): void => {
    groups.buffer.free()
    remaining.buffer.free()
  }
  try {
    params.u32[CU_GROUP_PARAMS.fields.smCount.offset / 4] = numSms
    cuda.call(
      'cuDevSmResourceSplit',
      groups.pointer(0),
      1,
      input.pointer(0),
      remaining.pointer(0),
      0,
      params.pointer,
    )
    return { groups, numGroups: 1, remaining, free }
  } catch (error) {
    free()
    throw error
  } finally {
    params.free()
  }
}

/** A descriptor of groups `from`..`to` of a split, with the remainder where asked. All come from one split call, as they must. */
export function describeResources(
  cuda: CudaLibrary,
  split: Split,
  from: number,
  to: number,
  withRemaining: boolean,
): bigint {
  const hasRemaining = withRemaining && readCounts(split.remaining.buffer.u32, 0).numSms > 0
  const count = to - from + (hasRemaining ? 1 : 0)
  const list = allocateResources(Math.max(1, count))
  try {
    list.buffer.u8.set(split.groups.buffer.u8.subarray(from * SIZE, to * SIZE))
    if (hasRemaining)
      list.buffer.u8.set(split.remaining.buffer.u8.subarray(0, SIZE), (to - from) * SIZE)
    cuda.call('cuDevResourceGenerateDesc', cuda.out.pointer, list.pointer(0), count)
    return cuda.out.u64[0] as bigint
  } finally {
    list.buffer.free()
  }
}
