/**
 * @module
 * The functions of libcuda that are called, as exported (the suffixed names are what the header's macros expand to), in the
 * words of koffi. `test/abi` asks a C++ compiler for the argument types of the real header and compares.
 *
 * Handles and out-parameters are `void *`; a device address is a `uint64_t`. Groups are probed apart, because each driver
 * branch exports what it has: 12.4 the Green Context base, 12.5 their streams, 13.1 the heterogeneous split.
 */

/** Every driver since 11.4 has these; without them the library is not NVIDIA's. */
export const CUDA_BASE = Object.freeze({
  cuInit: 'int cuInit(uint32_t flags)',
  cuDriverGetVersion: 'int cuDriverGetVersion(void *version)',
  cuGetErrorName: 'int cuGetErrorName(int error, void *name)',
  cuGetErrorString: 'int cuGetErrorString(int error, void *text)',
  cuDeviceGetCount: 'int cuDeviceGetCount(void *count)',
  cuDeviceGet: 'int cuDeviceGet(void *device, int ordinal)',
  cuDeviceGetName: 'int cuDeviceGetName(void *name, int bytes, int device)',
  cuDeviceGetAttribute: 'int cuDeviceGetAttribute(void *value, int attribute, int device)',
  cuDeviceGetUuid_v2: 'int cuDeviceGetUuid_v2(void *uuid, int device)',
  cuDevicePrimaryCtxRetain: 'int cuDevicePrimaryCtxRetain(void *context, int device)',
  cuDevicePrimaryCtxRelease_v2: 'int cuDevicePrimaryCtxRelease_v2(int device)',
  cuCtxSetCurrent: 'int cuCtxSetCurrent(void *context)',
  cuCtxGetCurrent: 'int cuCtxGetCurrent(void *context)',
  cuCtxPushCurrent_v2: 'int cuCtxPushCurrent_v2(void *context)',
  cuCtxPopCurrent_v2: 'int cuCtxPopCurrent_v2(void *context)',
  cuCtxSynchronize: 'int cuCtxSynchronize()',
  cuStreamCreateWithPriority:
    'int cuStreamCreateWithPriority(void *stream, uint32_t flags, int priority)',
  cuStreamDestroy_v2: 'int cuStreamDestroy_v2(void *stream)',
  cuStreamSynchronize: 'int cuStreamSynchronize(void *stream)',
  cuEventCreate: 'int cuEventCreate(void *event, uint32_t flags)',
  cuEventRecord: 'int cuEventRecord(void *event, void *stream)',
  cuEventQuery: 'int cuEventQuery(void *event)',
  cuEventSynchronize: 'int cuEventSynchronize(void *event)',
  cuEventElapsedTime: 'int cuEventElapsedTime(void *ms, void *start, void *end)',
  cuEventDestroy_v2: 'int cuEventDestroy_v2(void *event)',
  cuModuleLoadData: 'int cuModuleLoadData(void *module, void *image)',
  cuModuleUnload: 'int cuModuleUnload(void *module)',
  cuModuleGetFunction: 'int cuModuleGetFunction(void *function, void *module, void *name)',
  cuLaunchKernel:
    'int cuLaunchKernel(void *function, uint32_t gridX, uint32_t gridY, uint32_t gridZ, uint32_t blockX, uint32_t blockY, uint32_t blockZ, uint32_t sharedBytes, void *stream, void *params, void *extra)',
  cuMemGetInfo_v2: 'int cuMemGetInfo_v2(void *free, void *total)',
  cuMemAlloc_v2: 'int cuMemAlloc_v2(void *address, size_t bytes)',
  cuMemFree_v2: 'int cuMemFree_v2(uint64_t address)',
  cuMemcpyDtoH_v2: 'int cuMemcpyDtoH_v2(void *host, uint64_t device, size_t bytes)',
  cuMemsetD32_v2: 'int cuMemsetD32_v2(uint64_t device, uint32_t value, size_t words)',
})

/** Green Contexts: driver 550 (CUDA 12.4) and newer. */
export const CUDA_GREEN = Object.freeze({
  cuDeviceGetDevResource: 'int cuDeviceGetDevResource(int device, void *resource, int type)',
  cuGreenCtxGetDevResource: 'int cuGreenCtxGetDevResource(void *context, void *resource, int type)',
  cuDevSmResourceSplitByCount:
    'int cuDevSmResourceSplitByCount(void *result, void *groups, void *input, void *remaining, uint32_t flags, uint32_t minCount)',
  cuDevResourceGenerateDesc:
    'int cuDevResourceGenerateDesc(void *descriptor, void *resources, uint32_t count)',
  cuGreenCtxCreate:
    'int cuGreenCtxCreate(void *context, void *descriptor, int device, uint32_t flags)',
  cuGreenCtxDestroy: 'int cuGreenCtxDestroy(void *context)',
  cuCtxFromGreenCtx: 'int cuCtxFromGreenCtx(void *context, void *green)',
})

/** What later drivers add; each is used where it exists. */
export const CUDA_LATER = Object.freeze({
  cuLibraryLoadData:
    'int cuLibraryLoadData(void *library, void *code, void *jitOptions, void *jitValues, uint32_t numJit, void *options, void *values, uint32_t numOptions)',
  cuLibraryUnload: 'int cuLibraryUnload(void *library)',
  cuLibraryGetKernel: 'int cuLibraryGetKernel(void *kernel, void *library, void *name)',
  cuGreenCtxStreamCreate:
    'int cuGreenCtxStreamCreate(void *stream, void *context, uint32_t flags, int priority)',
  cuDevSmResourceSplit:
    'int cuDevSmResourceSplit(void *result, uint32_t groups, void *input, void *remainder, uint32_t flags, void *params)',
})

/** Prototypes of all groups. */
export type CudaPrototypes = typeof CUDA_BASE & typeof CUDA_GREEN & typeof CUDA_LATER

/** A function of any of the groups. */
export type CudaSymbol = keyof CudaPrototypes

/** First CUDA_VERSION of the functions that are not in every supported driver. */
export const CUDA_SYMBOL_SINCE: Readonly<Record<string, number>> = Object.freeze({
  ...Object.fromEntries(Object.keys(CUDA_GREEN).map((name) => [name, 12040])),
  cuLibraryLoadData: 12000,
  cuLibraryUnload: 12000,
  cuLibraryGetKernel: 12000,
  cuGreenCtxStreamCreate: 12050,
  cuDevSmResourceSplit: 13010,
})
