/**
 * @module
 * Memory activity by `nvmlDeviceGetUtilizationRates`, what the paper samples: percent of **time** in which device memory was
 * read or written, over a period of 1/6 to 1 s. It saturates early and is not bandwidth, and it carries no timestamp:
 * a reading counts as new when it differs, or when a period has passed.
 */

import { allocateNative } from '../native/native-buffer.js'
import { NVML_RETURN, NVML_UTILIZATION } from './abi.js'
import type { NvmlLibrary } from './nvml.js'
import { fractionOf, type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/** Options of the probe. */
export interface NvmlUtilizationOptions {
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
  /** Shortest period in which NVML renews the number, ms. @default 1000/6 (NVML API reference, nvmlUtilization_t) */
  readonly periodMs?: number
}

/** Opens the probe on a device; asks once, so that an unsupported device is an error here and not silence later. */
export function createNvmlUtilizationProbe(
  nvml: NvmlLibrary,
  device: bigint,
  options: NvmlUtilizationOptions = {},
): PressureProbe {
  const clock = options.clock ?? createMonotonicClock()
  const periodMs = options.periodMs ?? 1000 / 6
  const ask = nvml.raw('nvmlDeviceGetUtilizationRates')
  const buffer = allocateNative(NVML_UTILIZATION.bytes)
  const { pointer, u32 } = buffer
  const at = NVML_UTILIZATION.fields.memory.offset / 4
  try {
    nvml.check('nvmlDeviceGetUtilizationRates', ask(device, pointer))
  } catch (error) {
    buffer.free()
    throw error
  }
  let last = -1
  let isClosed = false
  return {
    name: 'nvml-utilization',
    kind: 'memory-activity',
    read(cell) {
      if (isClosed) return NVML_RETURN.NVML_ERROR_UNINITIALIZED
      const result = ask(device, pointer)
      if (result !== 0) return result
      const percent = u32[at] as number
      clock.read()
      const now = clock.ms[0] as number
      if (percent === last && now - (cell[RENEWED_MS] as number) < periodMs) return 0
      const value = fractionOf(percent)
      if (Number.isNaN(value)) return NVML_RETURN.NVML_ERROR_NO_DATA
      last = percent
      cell[VALUE] = value
      cell[RENEWED_MS] = now
      return 0
    },
    describeResult: nvml.describeResult,
    close() {
      if (isClosed) return
      isClosed = true
      buffer.free()
    },
  }
}
