/**
 * @module
 * MIG instances: slices of a GPU with SMs and memory of their own. CUDA sees an instance as its device and names it by the instance's UUID;
 * NVML has no utilisation for it (nvml.h, nvmlDeviceGetUtilizationRates), only performance monitoring by way of its GPU.
 */
import { NVML_RETURN } from './abi.js'
import { type NvmlLibrary, nvmlDeviceByUuid } from './nvml.js'

/** An instance and the GPU it is cut from. */
export interface MigInstance {
  readonly parent: bigint
  /** GPU instance id on that GPU. */
  readonly instanceId: number
}

/** What instance an NVML device is; `undefined` for a whole GPU, and for an NVML without MIG. */
export function migInstanceOf(nvml: NvmlLibrary, device: bigint): MigInstance | undefined {
  if (!nvml.has('nvmlDeviceIsMigDeviceHandle')) return undefined
  const { out } = nvml
  const result = nvml.raw('nvmlDeviceIsMigDeviceHandle')(device, out.pointer)
  if (result !== NVML_RETURN.NVML_SUCCESS || out.u32[0] !== 1) return undefined
  nvml.call('nvmlDeviceGetDeviceHandleFromMigDeviceHandle', device, out.pointer)
  const parent = out.u64[0] as bigint
  nvml.call('nvmlDeviceGetGpuInstanceId', device, out.pointer)
  return { parent, instanceId: out.u32[0] as number }
}

/**
 * The NVML device that CUDA names by `GPU-…`: the driver gives the bytes of an instance's UUID without saying that it is one.
 * @throws `ERR_GPU_DEVICE_INDEX` when NVML knows neither
 */
export function nvmlDeviceOfCuda(nvml: NvmlLibrary, uuid: string): bigint {
  try {
    return nvmlDeviceByUuid(nvml, uuid)
  } catch (error) {
    try {
      return nvmlDeviceByUuid(nvml, uuid.replace(/^GPU-/, 'MIG-'))
    } catch {
      throw error
    }
  }
}
