/**
 * @module
 * Memory activity by `nvmlDeviceGetSamples`: the same numbers as the utilisation rates, each with the driver's timestamp, so
 * that their true age is known and none is counted twice. Costs more per call, so it asks at most once per interval.
 */
import { allocateNative, type NativeBuffer } from '../native/native-buffer.js'
import { NVML, NVML_RETURN, NVML_SAMPLE } from './abi.js'
import type { NvmlLibrary } from './nvml.js'
import { fractionOf, type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/** Options of the probe. */
export interface NvmlSamplesOptions {
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
  /** Wall clock in microseconds, the clock of NVML's timestamps. @default Date.now */
  readonly wallUs?: () => number
  /** Least time between two questions, ms. @default 20 */
  readonly minIntervalMs?: number
}

/** The newest sample of a filled buffer. */
export interface NewestSample {
  readonly timestampUs: bigint
  readonly percent: number
}

/**
 * Finds the newest sample among the first `count`. The count comes from the driver and is not trusted beyond the buffer;
 * `undefined` when there is none that makes sense.
 */
export function newestSample(
  data: DataView,
  count: number,
  valueType: number,
  after: bigint,
): NewestSample | undefined {
  const capacity = Math.floor(data.byteLength / NVML_SAMPLE.bytes)
  const known = Number.isInteger(count) && count > 0 ? Math.min(count, capacity) : 0
  let best: NewestSample | undefined
  let newest = after
  for (let i = 0; i < known; i++) {
    const base = i * NVML_SAMPLE.bytes
    const timestampUs = data.getBigUint64(base + NVML_SAMPLE.fields.timeStamp.offset, true)
    if (timestampUs <= newest) continue
    const percent = readValue(data, base + NVML_SAMPLE.fields.sampleValue.offset, valueType)
    if (Number.isNaN(fractionOf(percent))) continue
    newest = timestampUs
    best = { timestampUs, percent }
  }
  return best
}

/** The union of `nvmlValue_t`; `NaN` for a type that is not known. */
function readValue(data: DataView, offset: number, valueType: number): number {
  switch (valueType) {
    case NVML.NVML_VALUE_TYPE_DOUBLE:
      return data.getFloat64(offset, true)
    case NVML.NVML_VALUE_TYPE_UNSIGNED_INT:
      return data.getUint32(offset, true)
    case NVML.NVML_VALUE_TYPE_UNSIGNED_LONG:
    case NVML.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
      return Number(data.getBigUint64(offset, true))
    case NVML.NVML_VALUE_TYPE_SIGNED_LONG_LONG:
      return Number(data.getBigInt64(offset, true))
    case NVML.NVML_VALUE_TYPE_SIGNED_INT:
      return data.getInt32(offset, true)
    default:
      return Number.NaN
  }
}

/** Opens the probe on a device. @throws the NVML error of a device that has no such samples */
export function createNvmlSamplesProbe(
  nvml: NvmlLibrary,
  device: bigint,
  options: NvmlSamplesOptions = {},
): PressureProbe {
  const clock = options.clock ?? createMonotonicClock()
  const wallUs = options.wallUs ?? (() => Date.now() * 1000)
  const minIntervalMs = options.minIntervalMs ?? 20
  const ask = nvml.raw('nvmlDeviceGetSamples')
  const type = NVML.NVML_MEMORY_UTILIZATION_SAMPLES
  const head = allocateNative(16)
  const valueType = head.pointer
  const count = head.pointer + 8n
  let samples: NativeBuffer
  try {
    nvml.check('nvmlDeviceGetSamples', ask(device, type, 0n, valueType, count, null))
    const capacity = Math.min(Math.max(head.u32[2] as number, 1), 4096)
    samples = allocateNative(capacity * NVML_SAMPLE.bytes)
  } catch (error) {
    head.free()
    throw error
  }
  const capacity = samples.bytes / NVML_SAMPLE.bytes
  let lastUs = 0n
  let askedMs = Number.NEGATIVE_INFINITY
  // Between two questions the last answer stands, failures included, so that one outage stays one.
  let answer: number = NVML_RETURN.NVML_ERROR_NO_DATA
  let isClosed = false
  const fetchNewest = (cell: Float64Array, now: number): number => {
    const nothingNew = lastUs === 0n ? NVML_RETURN.NVML_ERROR_NO_DATA : NVML_RETURN.NVML_SUCCESS
    head.u32[2] = capacity
    const result = ask(device, type, lastUs, valueType, count, samples.pointer)
    // NOT_FOUND: nothing newer. The last value stands and its age grows.
    if (result === NVML_RETURN.NVML_ERROR_NOT_FOUND) return nothingNew
    if (result !== 0) return result
    const newest = newestSample(samples.data, head.u32[2], head.i32[0] as number, lastUs)
    if (newest === undefined) return nothingNew
    lastUs = newest.timestampUs
    cell[VALUE] = fractionOf(newest.percent)
    cell[RENEWED_MS] = now - Math.max(0, (wallUs() - Number(newest.timestampUs)) / 1000)
    return 0
  }
  return {
    name: 'nvml-samples',
    kind: 'memory-activity',
    read(cell) {
      if (isClosed) return NVML_RETURN.NVML_ERROR_UNINITIALIZED
      clock.read()
      const now = clock.ms[0] as number
      if (now - askedMs < minIntervalMs) return answer
      askedMs = now
      answer = fetchNewest(cell, now)
      return answer
    },
    describeResult: nvml.describeResult,
    close() {
      if (isClosed) return
      isClosed = true
      head.free()
      samples.free()
    },
  }
}
