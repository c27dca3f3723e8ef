/**
 * @module
 * What a code returned by the driver or by NVML means for the caller, and what to do about it.
 */
import { type ErrorCode, HorizonError } from '../core/errors.js'
import { CU_RESULT, NVML_RETURN } from './abi.js'

/** An error from a GPU library: the call that failed and the code it returned, beside our own code and hint. */
export interface GpuError extends HorizonError {
  readonly call: string
  /** `CUresult` or `nvmlReturn_t`. */
  readonly result: number
}

interface Meaning {
  readonly code: ErrorCode
  readonly hint: string
}

const UNAVAILABLE = 'ERR_GPU_DEVICE_UNAVAILABLE'
const STICKY = 'ERR_GPU_STICKY'
const MPS = 'ERR_GPU_MPS_UNAVAILABLE'

const noDevice =
  'No NVIDIA GPU is visible to this process: check `nvidia-smi`, CUDA_VISIBLE_DEVICES and the container runtime'
const driverFiles =
  'The user-mode libraries and the kernel module are of different versions, or the driver is still starting: reboot, or reload the module'
const sticky =
  'The GPU state of this process is lost and no call will succeed again: restart the process'
const mps =
  'The MPS server does not serve this process: check `nvidia-cuda-mps-control` and CUDA_MPS_PIPE_DIRECTORY'
const lifetime = 'A context, stream or event was used after it was destroyed'

const CUDA_MEANING: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [CU_RESULT.CUDA_ERROR_NO_DEVICE, { code: UNAVAILABLE, hint: noDevice }],
  [
    CU_RESULT.CUDA_ERROR_STUB_LIBRARY,
    {
      code: UNAVAILABLE,
      hint: "This is the toolkit's stub, not the driver: take its folder out of the library path",
    },
  ],
  [CU_RESULT.CUDA_ERROR_SYSTEM_NOT_READY, { code: UNAVAILABLE, hint: driverFiles }],
  [CU_RESULT.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, { code: UNAVAILABLE, hint: driverFiles }],
  [CU_RESULT.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, { code: UNAVAILABLE, hint: driverFiles }],
  [
    CU_RESULT.CUDA_ERROR_DEVICE_UNAVAILABLE,
    {
      code: UNAVAILABLE,
      hint: 'Another process holds the GPU in exclusive mode: stop it, or set the compute mode to default',
    },
  ],
  [
    CU_RESULT.CUDA_ERROR_INVALID_DEVICE,
    { code: 'ERR_GPU_DEVICE_INDEX', hint: 'List the devices with `horizonserve doctor`' },
  ],
  [
    CU_RESULT.CUDA_ERROR_NOT_PERMITTED,
    { code: 'ERR_GPU_NOT_PERMITTED', hint: 'The process lacks a permission on this GPU' },
  ],
  [
    CU_RESULT.CUDA_ERROR_NOT_SUPPORTED,
    {
      code: 'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
      hint: 'This GPU or driver has no Green Contexts: use the MPS or the `none` actuator',
    },
  ],
  [
    CU_RESULT.CUDA_ERROR_INVALID_RESOURCE_TYPE,
    {
      code: 'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
      hint: 'This driver does not partition SMs: use the MPS or the `none` actuator',
    },
  ],
  [
    CU_RESULT.CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
    { code: 'ERR_GPU_LEVEL_REFUSED', hint: 'This GPU refuses that SM count: choose another level' },
  ],
  [
    CU_RESULT.CUDA_ERROR_INVALID_VALUE,
    { code: 'ERR_GPU_INVALID_VALUE', hint: 'The driver refuses an argument' },
  ],
  [
    CU_RESULT.CUDA_ERROR_OUT_OF_MEMORY,
    { code: 'ERR_GPU_OUT_OF_MEMORY', hint: 'Ask for fewer levels, or free GPU memory first' },
  ],
  [
    CU_RESULT.CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
    {
      code: 'ERR_GPU_CONTEXT_IN_USE',
      hint: 'A Green Context is current to one thread at a time: build one ladder per thread from the same description',
    },
  ],
  [CU_RESULT.CUDA_ERROR_INVALID_CONTEXT, { code: 'ERR_GPU_CONTEXT_CLOSED', hint: lifetime }],
  [CU_RESULT.CUDA_ERROR_CONTEXT_IS_DESTROYED, { code: 'ERR_GPU_CONTEXT_CLOSED', hint: lifetime }],
  [CU_RESULT.CUDA_ERROR_INVALID_HANDLE, { code: 'ERR_GPU_CONTEXT_CLOSED', hint: lifetime }],
  [
    CU_RESULT.CUDA_ERROR_NOT_INITIALIZED,
    { code: 'ERR_GPU_NOT_INITIALIZED', hint: 'Call init first' },
  ],
  [
    CU_RESULT.CUDA_ERROR_DEINITIALIZED,
    { code: 'ERR_GPU_NOT_INITIALIZED', hint: 'The driver has shut down with the process' },
  ],
  [
    CU_RESULT.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    { code: 'ERR_GPU_PTX', hint: 'The driver is older than the PTX: install driver 550 or newer' },
  ],
  [CU_RESULT.CUDA_ERROR_INVALID_PTX, { code: 'ERR_GPU_PTX', hint: 'The PTX does not compile' }],
  [
    CU_RESULT.CUDA_ERROR_NO_BINARY_FOR_GPU,
    { code: 'ERR_GPU_PTX', hint: 'The PTX targets a newer GPU: compute capability 7.0 is needed' },
  ],
  [CU_RESULT.CUDA_ERROR_ILLEGAL_ADDRESS, { code: STICKY, hint: sticky }],
  [CU_RESULT.CUDA_ERROR_LAUNCH_FAILED, { code: STICKY, hint: sticky }],
  [CU_RESULT.CUDA_ERROR_LAUNCH_TIMEOUT, { code: STICKY, hint: sticky }],
  [CU_RESULT.CUDA_ERROR_ECC_UNCORRECTABLE, { code: STICKY, hint: sticky }],
  [CU_RESULT.CUDA_ERROR_MPS_CLIENT_TERMINATED, { code: STICKY, hint: sticky }],
  [CU_RESULT.CUDA_ERROR_MPS_CONNECTION_FAILED, { code: MPS, hint: mps }],
  [CU_RESULT.CUDA_ERROR_MPS_RPC_FAILURE, { code: MPS, hint: mps }],
  [CU_RESULT.CUDA_ERROR_MPS_SERVER_NOT_READY, { code: MPS, hint: mps }],
  [CU_RESULT.CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, { code: MPS, hint: mps }],
  [CU_RESULT.CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, { code: MPS, hint: mps }],
])

const nvmlAbsent =
  'No NVIDIA kernel driver runs here: install it, or go on without NVML (pressure source `none`)'

const NVML_MEANING: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [
    NVML_RETURN.NVML_ERROR_DRIVER_NOT_LOADED,
    { code: 'ERR_GPU_NVML_UNAVAILABLE', hint: nvmlAbsent },
  ],
  [
    NVML_RETURN.NVML_ERROR_LIBRARY_NOT_FOUND,
    { code: 'ERR_GPU_NVML_UNAVAILABLE', hint: nvmlAbsent },
  ],
  [
    NVML_RETURN.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    { code: 'ERR_GPU_NVML_UNAVAILABLE', hint: driverFiles },
  ],
  [
    NVML_RETURN.NVML_ERROR_NOT_SUPPORTED,
    { code: 'ERR_GPU_METRIC_UNAVAILABLE', hint: 'This GPU does not report it: use another source' },
  ],
  [
    NVML_RETURN.NVML_ERROR_FUNCTION_NOT_FOUND,
    {
      code: 'ERR_GPU_METRIC_UNAVAILABLE',
      hint: 'This driver is too old for it: use another source',
    },
  ],
  [
    NVML_RETURN.NVML_ERROR_NO_PERMISSION,
    {
      code: 'ERR_GPU_NOT_PERMITTED',
      hint: 'Reading it needs more rights: see NVreg_RestrictProfilingToAdminUsers, or use another source',
    },
  ],
  [
    NVML_RETURN.NVML_ERROR_GPU_IS_LOST,
    { code: 'ERR_GPU_LOST', hint: 'The GPU fell off the bus: reset it or reboot' },
  ],
  [
    NVML_RETURN.NVML_ERROR_RESET_REQUIRED,
    { code: 'ERR_GPU_LOST', hint: 'The GPU needs a reset: `nvidia-smi --gpu-reset`' },
  ],
  [
    NVML_RETURN.NVML_ERROR_NOT_FOUND,
    { code: 'ERR_GPU_DEVICE_INDEX', hint: 'List the devices with `horizonserve doctor`' },
  ],
  [
    NVML_RETURN.NVML_ERROR_INVALID_ARGUMENT,
    { code: 'ERR_GPU_INVALID_VALUE', hint: 'NVML refuses an argument' },
  ],
  [
    NVML_RETURN.NVML_ERROR_UNINITIALIZED,
    { code: 'ERR_GPU_NOT_INITIALIZED', hint: 'Call init first' },
  ],
])

/** Not NVML's: a probe that got an answer and does not believe it. Passes when another number comes. */
export const UNBELIEVABLE = -1

/** NVML codes that pass by themselves: keep the last value and let its age grow. */
export function isPassing(result: number): boolean {
  return (
    result === UNBELIEVABLE ||
    result === NVML_RETURN.NVML_ERROR_TIMEOUT ||
    result === NVML_RETURN.NVML_ERROR_NO_DATA ||
    result === NVML_RETURN.NVML_ERROR_NOT_READY
  )
}

/** The error for a `CUresult` that is not success. `text` is the driver's own name and sentence for it. */
export function cudaError(call: string, result: number, text: string): GpuError {
  return gpuError(call, result, text, CUDA_MEANING.get(result))
}

/** The error for an `nvmlReturn_t` that is not success. */
export function nvmlError(call: string, result: number, text: string): GpuError {
  return gpuError(call, result, text, NVML_MEANING.get(result))
}

function gpuError(
  call: string,
  result: number,
  text: string,
  meaning: Meaning | undefined,
): GpuError {
  const error = new HorizonError(
    meaning?.code ?? 'ERR_GPU_CALL',
    `${call} returned ${result} (${text})`,
    meaning === undefined ? {} : { hint: meaning.hint },
  )
  return Object.assign(error, { call, result })
}

/** True for an error made here, with the code that the library returned. */
export function isGpuError(error: unknown): error is GpuError {
  return error instanceof HorizonError && 'result' in error && typeof error.result === 'number'
}
