/**
 * @module
 * The functions of NVML that are called, in the words of koffi; compared with the real header by `test/abi`.
 */

/** Every driver that this library meets has these; without them the library is not NVIDIA's. */
export const NVML_BASE = Object.freeze({
  nvmlInit_v2: 'int nvmlInit_v2()',
  nvmlShutdown: 'int nvmlShutdown()',
  nvmlErrorString: 'void *nvmlErrorString(int result)',
  nvmlSystemGetDriverVersion: 'int nvmlSystemGetDriverVersion(void *version, uint32_t length)',
  nvmlDeviceGetCount_v2: 'int nvmlDeviceGetCount_v2(void *count)',
  nvmlDeviceGetHandleByIndex_v2: 'int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void *device)',
  nvmlDeviceGetHandleByUUID: 'int nvmlDeviceGetHandleByUUID(void *uuid, void *device)',
  nvmlDeviceGetHandleByPciBusId_v2: 'int nvmlDeviceGetHandleByPciBusId_v2(void *id, void *device)',
  nvmlDeviceGetUUID: 'int nvmlDeviceGetUUID(void *device, void *uuid, uint32_t length)',
  nvmlDeviceGetName: 'int nvmlDeviceGetName(void *device, void *name, uint32_t length)',
  nvmlDeviceGetUtilizationRates:
    'int nvmlDeviceGetUtilizationRates(void *device, void *utilization)',
  nvmlDeviceGetMemoryInfo: 'int nvmlDeviceGetMemoryInfo(void *device, void *memory)',
  nvmlDeviceGetSamples:
    'int nvmlDeviceGetSamples(void *device, int type, uint64_t since, void *valueType, void *count, void *samples)',
})

/** GPU performance monitoring: driver 525 and newer; the hardware is Hopper and newer. */
export const NVML_GPM = Object.freeze({
  nvmlGpmQueryDeviceSupport: 'int nvmlGpmQueryDeviceSupport(void *device, void *support)',
  nvmlGpmSampleAlloc: 'int nvmlGpmSampleAlloc(void *sample)',
  nvmlGpmSampleGet: 'int nvmlGpmSampleGet(void *device, void *sample)',
  nvmlGpmMetricsGet: 'int nvmlGpmMetricsGet(void *metrics)',
  nvmlGpmSampleFree: 'int nvmlGpmSampleFree(void *sample)',
})

/** MIG: driver 450 and newer, and 545 for performance monitoring of one instance. */
export const NVML_MIG = Object.freeze({
  nvmlDeviceIsMigDeviceHandle: 'int nvmlDeviceIsMigDeviceHandle(void *device, void *isMigDevice)',
  nvmlDeviceGetDeviceHandleFromMigDeviceHandle:
    'int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *migDevice, void *device)',
  nvmlDeviceGetGpuInstanceId: 'int nvmlDeviceGetGpuInstanceId(void *device, void *id)',
  nvmlGpmMigSampleGet:
    'int nvmlGpmMigSampleGet(void *device, uint32_t gpuInstanceId, void *gpmSample)',
})

/** Prototypes of all groups. */
export type NvmlPrototypes = typeof NVML_BASE & typeof NVML_GPM & typeof NVML_MIG

/** A function of any group. */
export type NvmlSymbol = keyof NvmlPrototypes
