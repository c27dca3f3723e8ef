/**
 * @module
 * One GPU as the driver describes it. Facts are read, never assumed from a name.
 */
import { HorizonError } from '../core/errors.js'
import { CU_ATTRIBUTE } from './abi.js'
import type { CudaLibrary } from './cuda.js'

/** A GPU and what the driver says of it. */
export interface GpuDevice {
  /** Ordinal among the GPUs visible to this process (CUDA_VISIBLE_DEVICES applies). */
  readonly index: number
  /** `CUdevice`. */
  readonly handle: number
  readonly name: string
  /** `GPU-xxxxxxxx-xxxx-…`, as NVML prints it: what the two libraries are matched by. */
  readonly uuid: string
  readonly ccMajor: number
  readonly ccMinor: number
  readonly numSms: number
  readonly l2Bytes: number
  /** Theoretical, from bus width and memory clock (two transfers a clock); 0 where the driver no longer reports a clock. */
  readonly peakBytesPerSec: number
  /** The GPU is part of an SoC and shares the host's memory. */
  readonly isIntegrated: boolean
  /** `CUcomputemode`: 0 default, 2 prohibited, 3 exclusive process. */
  readonly computeMode: number
  /** Contexts of this process go through an MPS server; undefined on drivers that do not say. */
  readonly isMpsClient: boolean | undefined
}

/** Number of GPUs visible to this process. */
export function countDevices(cuda: CudaLibrary): number {
  cuda.call('cuDeviceGetCount', cuda.out.pointer)
  return cuda.out.i32[0] as number
}

/** @throws `ERR_GPU_DEVICE_INDEX` when there is no such GPU */
export function openDevice(cuda: CudaLibrary, index = 0): GpuDevice {
  const count = countDevices(cuda)
  if (!Number.isInteger(index) || index < 0 || index >= count) {
    throw new HorizonError('ERR_GPU_DEVICE_INDEX', 'no such GPU', {
      field: 'device',
      expected: count === 1 ? '0' : `an integer from 0 to ${count - 1}`,
      got: index,
      hint: 'List the devices with `horizonserve doctor`; CUDA_VISIBLE_DEVICES renumbers them',
    })
  }
  cuda.call('cuDeviceGet', cuda.out.pointer, index)
  const handle = cuda.out.i32[0] as number
  const attribute = (id: number): number => readAttribute(cuda, handle, id) ?? 0
  const clockKhz = attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
  const busBits = attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
  const mps = readAttribute(cuda, handle, CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MPS_ENABLED)
  return {
    index,
    handle,
    name: readName(cuda, handle),
    uuid: readUuid(cuda, handle),
    ccMajor: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
    ccMinor: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    numSms: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    l2Bytes: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
    peakBytesPerSec: (clockKhz * 1000 * 2 * busBits) / 8,
    isIntegrated: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_INTEGRATED) !== 0,
    computeMode: attribute(CU_ATTRIBUTE.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE),
    isMpsClient: mps === undefined ? undefined : mps !== 0,
  }
}

/** Free and total memory of the current context's device, bytes. Doubles hold every size a GPU has. */
export function readMemory(cuda: CudaLibrary): {
  readonly freeBytes: number
  readonly totalBytes: number
} {
  cuda.call('cuMemGetInfo_v2', cuda.out.pointer, cuda.out.pointer + 8n)
  return { freeBytes: Number(cuda.out.u64[0]), totalBytes: Number(cuda.out.u64[1]) }
}

/** `undefined` for an attribute that this driver does not know. */
function readAttribute(cuda: CudaLibrary, handle: number, attribute: number): number | undefined {
  const result = cuda.raw('cuDeviceGetAttribute')(cuda.out.pointer, attribute, handle)
  return result === 0 ? cuda.out.i32[0] : undefined
}

function readName(cuda: CudaLibrary, handle: number): string {
  cuda.out.u8.fill(0)
  cuda.call('cuDeviceGetName', cuda.out.pointer, cuda.out.bytes - 1, handle)
  return cuda.out.text(0, cuda.out.bytes)
}

function readUuid(cuda: CudaLibrary, handle: number): string {
  cuda.call('cuDeviceGetUuid_v2', cuda.out.pointer, handle)
  return formatUuid(cuda.out.u8)
}

/** The 16 bytes of a `CUuuid` in the form NVML prints. */
function formatUuid(bytes: Uint8Array): string {
  const hex = Array.from(bytes.subarray(0, 16), (b) => b.toString(16).padStart(2, '0')).join('')
  return `GPU-${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
