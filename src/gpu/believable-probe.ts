/**
 * @module
 * Integrated GPUs (GB10, Thor) answer memory activity 0 with success for ever. An exact 0 from a GPU that is busy, reading after reading, is
 * no measurement: the probe then says that it knows nothing, until another number comes.
 */
import { allocateNative } from '../native/native-buffer.js'
import { NVML_RETURN, NVML_UTILIZATION } from './abi.js'
import type { NvmlLibrary } from './nvml.js'
import { type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { UNBELIEVABLE } from './result.js'

/** A discrete GPU that computes for 10 s moves memory: NVML renews its number 10 to 60 times in that. */
const ZEROES = 10
/** Percent of time with a kernel on the GPU, from which a 0 for memory is not believed. */
const BUSY_PERCENT = 50

/** Wraps a probe of memory activity. The GPU's own activity is asked only when a renewed reading is 0. */
export function createBelievableProbe(
  probe: PressureProbe,
  nvml: NvmlLibrary,
  device: bigint,
): PressureProbe {
  const ask = nvml.raw('nvmlDeviceGetUtilizationRates')
  const buffer = allocateNative(NVML_UTILIZATION.bytes)
  const busyAt = NVML_UTILIZATION.fields.gpu.offset / 4
  const own = new Float64Array(2)
  let renewedMs = Number.NEGATIVE_INFINITY
  let zeroes = 0
  const isBusy = (): boolean =>
    ask(device, buffer.pointer) === NVML_RETURN.NVML_SUCCESS &&
    (buffer.u32[busyAt] as number) >= BUSY_PERCENT
  return {
    name: probe.name,
    kind: probe.kind,
    read(cell) {
      const result = probe.read(own)
      if (result !== 0) return result
      if (own[RENEWED_MS] !== renewedMs) {
        renewedMs = own[RENEWED_MS] as number
        if (own[VALUE] !== 0) zeroes = 0
        else if (zeroes < ZEROES && isBusy()) zeroes++
      }
      if (zeroes >= ZEROES) return UNBELIEVABLE
      cell[VALUE] = own[VALUE] as number
      cell[RENEWED_MS] = renewedMs
      return 0
    },
    describeResult: (result) =>
      result === UNBELIEVABLE
        ? 'memory activity reads 0 while the GPU computes: this GPU does not report it'
        : probe.describeResult(result),
    close() {
      probe.close()
      buffer.free()
    },
  }
}
