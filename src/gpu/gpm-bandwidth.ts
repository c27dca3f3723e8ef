/**
 * @module
 * DRAM bandwidth by GPU performance monitoring: the fraction of the theoretical bandwidth in use, between two samples that must
 * lie at least 100 ms apart (closer ones give numbers that mean nothing). Hopper and newer; the counters are shared with
 * DCGM and Nsight, and while one of them runs this source may fail.
 */
import { HorizonError } from '../core/errors.js'
import { allocateNative } from '../native/native-buffer.js'
import {
  NVML,
  NVML_GPM_METRIC,
  NVML_GPM_METRICS_GET,
  NVML_GPM_SUPPORT,
  NVML_RETURN,
} from './abi.js'
import { type MigInstance, migInstanceOf } from './mig.js'
import type { NvmlLibrary } from './nvml.js'
import { fractionOf, type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/**
 * `nvmlGpmMetricsGet_t` holds places for every metric (3,944 bytes in 12.x headers, over 13,344 in later ones), and whether the library
 * touches those that were not asked for is not said.
 */
const REQUEST_BYTES = 32 * 1024

/** Options of the probe. */
export interface GpmBandwidthOptions {
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
  /** Time between two samples, ms; above 100, as the header asks. @default 110 */
  readonly intervalMs?: number
}

/** Whether the GPU has performance monitoring; false also for an NVML without the functions. */
export function supportsGpm(nvml: NvmlLibrary, device: bigint): boolean {
  if (!nvml.has('nvmlGpmQueryDeviceSupport')) return false
  const whole = migInstanceOf(nvml, device)?.parent ?? device
  const { version, isSupportedDevice } = NVML_GPM_SUPPORT.fields
  nvml.out.u32[version.offset / 4] = NVML.NVML_GPM_SUPPORT_VERSION
  nvml.out.u32[isSupportedDevice.offset / 4] = 0
  const result = nvml.raw('nvmlGpmQueryDeviceSupport')(whole, nvml.out.pointer)
  return result === NVML_RETURN.NVML_SUCCESS && nvml.out.u32[isSupportedDevice.offset / 4] !== 0
}

/** Takes a sample of a GPU, or of one instance by way of its GPU. */
function sampler(
  nvml: NvmlLibrary,
  device: bigint,
  instance: MigInstance | undefined,
): (sample: bigint) => number {
  if (instance === undefined) {
    const get = nvml.raw('nvmlGpmSampleGet')
    return (sample) => get(device, sample)
  }
  const get = nvml.raw('nvmlGpmMigSampleGet')
  return (sample) => get(instance.parent, instance.instanceId, sample)
}

/** One metric of a filled `nvmlGpmMetricsGet_t` as a fraction; `NaN` where the driver gave none or one that cannot be. */
export function readGpmMetric(data: DataView, metricId: number): number {
  const base = NVML_GPM_METRICS_GET.headBytes
  const { metricId: id, nvmlReturn, value } = NVML_GPM_METRIC.fields
  if (data.byteLength < base + NVML_GPM_METRIC.bytes) return Number.NaN
  if (data.getUint32(base + id.offset, true) !== metricId) return Number.NaN
  if (data.getInt32(base + nvmlReturn.offset, true) !== NVML_RETURN.NVML_SUCCESS) return Number.NaN
  return fractionOf(data.getFloat64(base + value.offset, true))
}

/** Opens the probe on a device. @throws `ERR_GPU_METRIC_UNAVAILABLE` on a GPU without performance monitoring */
export function createGpmBandwidthProbe(
  nvml: NvmlLibrary,
  device: bigint,
  options: GpmBandwidthOptions = {},
): PressureProbe {
  const intervalMs = options.intervalMs ?? 110
  if (!(intervalMs > 100)) {
    throw new HorizonError('ERR_GPU_INVALID_VALUE', 'GPM samples are too close', {
      field: 'intervalMs',
      expected: 'more than 100',
      got: intervalMs,
    })
  }
  const instance = migInstanceOf(nvml, device)
  if (!supportsGpm(nvml, device)) {
    throw new HorizonError(
      'ERR_GPU_METRIC_UNAVAILABLE',
      'this GPU or driver has no performance monitoring',
      {
        hint: 'GPM needs Hopper or newer: use `nvml-samples`',
      },
    )
  }
  const clock = options.clock ?? createMonotonicClock()
  const take = sampler(nvml, device, instance)
  const compute = nvml.raw('nvmlGpmMetricsGet')
  const request = allocateNative(REQUEST_BYTES)
  const { version, numMetrics, sample1, sample2 } = NVML_GPM_METRICS_GET.fields
  const samples: bigint[] = []
  const free = (): void => {
    for (const sample of samples) nvml.raw('nvmlGpmSampleFree')(sample)
    request.free()
  }
  try {
    for (let i = 0; i < 2; i++) {
      nvml.call('nvmlGpmSampleAlloc', nvml.out.pointer)
      samples.push(nvml.out.u64[0] as bigint)
    }
    nvml.check('nvmlGpmSampleGet', take(samples[0] as bigint))
  } catch (error) {
    free()
    throw error
  }
  request.u32[version.offset / 4] = NVML.NVML_GPM_METRICS_GET_VERSION
  request.u32[numMetrics.offset / 4] = 1
  request.u32[NVML_GPM_METRICS_GET.headBytes / 4] = NVML.NVML_GPM_METRIC_DRAM_BW_UTIL
  clock.read()
  let takenMs = clock.ms[0] as number
  let older = 0
  // Between two questions the last answer stands, failures included, so that one outage stays one.
  let answer: number = NVML_RETURN.NVML_ERROR_NOT_READY
  let isClosed = false
  const measure = (cell: Float64Array, now: number): number => {
    const newer = 1 - older
    const taken = take(samples[newer] as bigint)
    if (taken !== 0) return taken
    request.u64[sample1.offset / 8] = samples[older] as bigint
    request.u64[sample2.offset / 8] = samples[newer] as bigint
    older = newer
    const result = compute(request.pointer)
    if (result !== 0) return result
    const value = readGpmMetric(request.data, NVML.NVML_GPM_METRIC_DRAM_BW_UTIL)
    if (Number.isNaN(value)) return NVML_RETURN.NVML_ERROR_NO_DATA
    cell[VALUE] = value
    cell[RENEWED_MS] = now
    return 0
  }
  return {
    name: 'gpm-dram-bandwidth',
    kind: 'dram-bandwidth',
    read(cell) {
      if (isClosed) return NVML_RETURN.NVML_ERROR_UNINITIALIZED
      clock.read()
      const now = clock.ms[0] as number
      if (now - takenMs < intervalMs) return answer
      takenMs = now
      answer = measure(cell, now)
      return answer
    },
    describeResult: nvml.describeResult,
    close() {
      if (isClosed) return
      isClosed = true
      free()
    },
  }
}
