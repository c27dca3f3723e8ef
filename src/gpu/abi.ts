/**
 * @module
 * Every struct, enum and constant of the CUDA driver and of NVML that this library uses, under its C name.
 *
 * Read from cuda.h 12.4, 12.9, 13.0 and 13.5 and nvml.h 12.4, 12.9, 13.0 and 13.4 (x86-64 and AArch64 Linux, LP64). `test/abi` compiles a C
 * program against whichever of these headers is at hand and compares every size, offset and value below with it.
 * `since` is the CUDA_VERSION of the first header that has the name; drivers older than that leave the bytes zero.
 */

/** Where a field lies. `bytes` is its size. */
export interface FieldAbi {
  readonly offset: number
  readonly bytes: number
  /** First CUDA_VERSION whose header names the field; absent: all of them. */
  readonly since?: number
}

/** A C struct as native code fills it. */
export interface StructAbi {
  readonly name: string
  readonly bytes: number
  readonly fields: Readonly<Record<string, FieldAbi>>
  /** First CUDA_VERSION whose header has the struct; absent: all of them. */
  readonly since?: number
}

const u32 = (offset: number, since?: number): FieldAbi => field(offset, 4, since)
const u64 = (offset: number, since?: number): FieldAbi => field(offset, 8, since)

function field(offset: number, bytes: number, since?: number): FieldAbi {
  return since === undefined ? { offset, bytes } : { offset, bytes, since }
}

// --- CUDA driver -----------------------------------------------------------------------------------------------------

/** First CUDA_VERSION with Green Contexts, with streams made in one, and with the heterogeneous split. */
const CUDA_VERSION = Object.freeze({
  greenContexts: 12040,
  greenStreams: 12050,
  heterogeneousSplit: 13010,
})

/**
 * `CUdevResource`. One 144-byte, 8-aligned buffer serves every version; all but the fields named here is the driver's own and
 * holds addresses of this process, so whole structs are copied and none ever leaves the process.
 * Headers before 13.0 lack `minSmPartitionSize` and `smCoscheduledAlignment`: 0 there means "use the table by compute capability".
 */
export const CU_DEV_RESOURCE = Object.freeze({
  name: 'CUdevResource',
  bytes: 144,
  fields: {
    type: u32(0),
    'sm.smCount': u32(96),
    'sm.minSmPartitionSize': u32(100, 13000),
    'sm.smCoscheduledAlignment': u32(104, 13000),
    'sm.flags': u32(108, 13010),
    nextResource: u64(136, 13010),
  },
} satisfies StructAbi)

/** `CU_DEV_SM_RESOURCE_GROUP_PARAMS`, the wish for one group of the heterogeneous split. Zero all of it first. */
export const CU_GROUP_PARAMS = Object.freeze({
  name: 'CU_DEV_SM_RESOURCE_GROUP_PARAMS',
  bytes: 64,
  since: CUDA_VERSION.heterogeneousSplit,
  fields: {
    smCount: u32(0),
    coscheduledSmCount: u32(4),
    preferredCoscheduledSmCount: u32(8),
    flags: u32(12),
  },
} satisfies StructAbi)

/** `CUuuid`: 16 bytes, printed as NVML does behind `GPU-`. */
export const CU_UUID = Object.freeze({
  name: 'CUuuid',
  bytes: 16,
  fields: { bytes: { offset: 0, bytes: 16 } },
} satisfies StructAbi)

/** `CUresult` values that have a meaning of their own here. */
export const CU_RESULT = Object.freeze({
  CUDA_SUCCESS: 0,
  CUDA_ERROR_INVALID_VALUE: 1,
  CUDA_ERROR_OUT_OF_MEMORY: 2,
  CUDA_ERROR_NOT_INITIALIZED: 3,
  CUDA_ERROR_DEINITIALIZED: 4,
  CUDA_ERROR_STUB_LIBRARY: 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE: 46,
  CUDA_ERROR_NO_DEVICE: 100,
  CUDA_ERROR_INVALID_DEVICE: 101,
  CUDA_ERROR_INVALID_CONTEXT: 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU: 209,
  CUDA_ERROR_ECC_UNCORRECTABLE: 214,
  CUDA_ERROR_CONTEXT_ALREADY_IN_USE: 216,
  CUDA_ERROR_INVALID_PTX: 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION: 222,
  CUDA_ERROR_INVALID_HANDLE: 400,
  CUDA_ERROR_NOT_FOUND: 500,
  CUDA_ERROR_NOT_READY: 600,
  CUDA_ERROR_ILLEGAL_ADDRESS: 700,
  CUDA_ERROR_LAUNCH_TIMEOUT: 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED: 709,
  CUDA_ERROR_LAUNCH_FAILED: 719,
  CUDA_ERROR_NOT_PERMITTED: 800,
  CUDA_ERROR_NOT_SUPPORTED: 801,
  CUDA_ERROR_SYSTEM_NOT_READY: 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: 804,
  CUDA_ERROR_MPS_CONNECTION_FAILED: 805,
  CUDA_ERROR_MPS_RPC_FAILURE: 806,
  CUDA_ERROR_MPS_SERVER_NOT_READY: 807,
  CUDA_ERROR_MPS_MAX_CLIENTS_REACHED: 808,
  CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: 809,
  CUDA_ERROR_MPS_CLIENT_TERMINATED: 810,
  CUDA_ERROR_INVALID_RESOURCE_TYPE: 914,
  CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: 915,
})

/** Flags and small enums of the driver. */
export const CU = Object.freeze({
  CU_DEV_RESOURCE_TYPE_INVALID: 0,
  CU_DEV_RESOURCE_TYPE_SM: 1,
  /** Required by `cuGreenCtxCreate` up to 13.x. */
  CU_GREEN_CTX_DEFAULT_STREAM: 1,
  /** Required by `cuGreenCtxStreamCreate`. */
  CU_STREAM_NON_BLOCKING: 1,
  CU_EVENT_DEFAULT: 0,
  CU_EVENT_DISABLE_TIMING: 2,
})

/** `CUdevice_attribute` values in use. */
export const CU_ATTRIBUTE = Object.freeze({
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE: 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED: 18,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: 31,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: 34,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: 38,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: 50,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 76,
  CU_DEVICE_ATTRIBUTE_MPS_ENABLED: 133,
})

/** First header that has a constant, where that is not the oldest one supported. */
export const SINCE: Readonly<Record<string, number>> = Object.freeze({
  CU_DEVICE_ATTRIBUTE_MPS_ENABLED: 12040,
})

// --- NVML ------------------------------------------------------------------------------------------------------------

/** Length of the buffers for names, UUIDs and versions (`NVML_DEVICE_UUID_V2_BUFFER_SIZE`). */
export const NVML_TEXT_BYTES = 96

/** `nvmlUtilization_t`: percent of time, over the driver's own sampling period of 1/6 to 1 s. */
export const NVML_UTILIZATION = Object.freeze({
  name: 'nvmlUtilization_t',
  bytes: 8,
  fields: { gpu: u32(0), memory: u32(4) },
} satisfies StructAbi)

/** `nvmlMemory_t`, bytes. */
export const NVML_MEMORY = Object.freeze({
  name: 'nvmlMemory_t',
  bytes: 24,
  fields: { total: u64(0), free: u64(8), used: u64(16) },
} satisfies StructAbi)

/** `nvmlSample_t`: microseconds since the epoch, and a union read by the value type the call returns. */
export const NVML_SAMPLE = Object.freeze({
  name: 'nvmlSample_t',
  bytes: 16,
  fields: { timeStamp: u64(0), sampleValue: u64(8) },
} satisfies StructAbi)

/** `nvmlGpmSupport_t`; `version` must be 1. */
export const NVML_GPM_SUPPORT = Object.freeze({
  name: 'nvmlGpmSupport_t',
  bytes: 8,
  fields: { version: u32(0), isSupportedDevice: u32(4) },
} satisfies StructAbi)

/** `nvmlGpmMetric_t`: one slot of a metrics request. */
export const NVML_GPM_METRIC = Object.freeze({
  name: 'nvmlGpmMetric_t',
  bytes: 40,
  fields: { metricId: u32(0), nvmlReturn: u32(4), value: u64(8) },
} satisfies StructAbi)

/**
 * The head of `nvmlGpmMetricsGet_t`. The struct's own size grew from 3,944 to more than 13,344 bytes under one version number;
 * the driver reads `numMetrics` slots, so 24 + 40 n bytes are what a request needs.
 */
export const NVML_GPM_METRICS_GET = Object.freeze({
  name: 'nvmlGpmMetricsGet_t',
  /** Bytes before the first slot, not `sizeof`. */
  headBytes: 24,
  fields: {
    version: u32(0),
    numMetrics: u32(4),
    sample1: u64(8),
    sample2: u64(16),
  },
})

/** `nvmlReturn_t` values that have a meaning of their own here. */
export const NVML_RETURN = Object.freeze({
  NVML_SUCCESS: 0,
  NVML_ERROR_UNINITIALIZED: 1,
  NVML_ERROR_INVALID_ARGUMENT: 2,
  NVML_ERROR_NOT_SUPPORTED: 3,
  NVML_ERROR_NO_PERMISSION: 4,
  NVML_ERROR_NOT_FOUND: 6,
  NVML_ERROR_INSUFFICIENT_SIZE: 7,
  NVML_ERROR_DRIVER_NOT_LOADED: 9,
  NVML_ERROR_TIMEOUT: 10,
  NVML_ERROR_LIBRARY_NOT_FOUND: 12,
  NVML_ERROR_FUNCTION_NOT_FOUND: 13,
  NVML_ERROR_GPU_IS_LOST: 15,
  NVML_ERROR_RESET_REQUIRED: 16,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH: 18,
  NVML_ERROR_NO_DATA: 21,
  NVML_ERROR_NOT_READY: 27,
  NVML_ERROR_UNKNOWN: 999,
})

/** Selectors and type tags of NVML. */
export const NVML = Object.freeze({
  NVML_MEMORY_UTILIZATION_SAMPLES: 2,
  NVML_VALUE_TYPE_DOUBLE: 0,
  NVML_VALUE_TYPE_UNSIGNED_INT: 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG: 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: 3,
  NVML_VALUE_TYPE_SIGNED_LONG_LONG: 4,
  NVML_VALUE_TYPE_SIGNED_INT: 5,
  NVML_GPM_METRIC_SM_UTIL: 2,
  NVML_GPM_METRIC_DRAM_BW_UTIL: 10,
  NVML_GPM_SUPPORT_VERSION: 1,
  NVML_GPM_METRICS_GET_VERSION: 1,
})
