/**
 * @module
 * The pressure source that a configuration asks for, on the GPU that it names. `auto` takes the kind that the paper samples, memory
 * activity, with the driver's timestamps where it gives them. It never takes DRAM bandwidth: a saturation belongs to a kind, so that
 * one is for who asks for it by name.
 */
import { createGpmBandwidthProbe } from '../gpu/gpm-bandwidth.js'
import {
  initNvml,
  type NvmlLibrary,
  nvmlDeviceByIndex,
  nvmlDeviceByPciId,
  nvmlDeviceByUuid,
  openNvml,
  readNvmlName,
} from '../gpu/nvml.js'
import { createNvmlSamplesProbe } from '../gpu/nvml-samples.js'
import { createNvmlUtilizationProbe } from '../gpu/nvml-utilization.js'
import type { PressureProbe } from '../gpu/pressure-source.js'

/** Sources by name; `auto` is one of the first two. */
export const PRESSURE_SOURCES = ['nvml-samples', 'nvml-utilization', 'gpm-dram-bandwidth'] as const
export type PressureSourceName = (typeof PRESSURE_SOURCES)[number]

/** What is asked for, complete. */
export interface PressureSettings {
  readonly source: 'auto' | PressureSourceName
  /** NVML's index, a UUID (`GPU-…`) or a PCI id. */
  readonly device: number | string
  /** How often the GPU is asked, ms. */
  readonly everyMs: number
}

/** An open probe and the GPU it asks. */
export interface OpenedPressure {
  readonly probe: PressureProbe
  readonly gpu: string
}

/** @throws the errors of the GPU room: no driver, no such GPU, a metric that it does not have */
export function openPressure(settings: PressureSettings): OpenedPressure {
  const nvml = openNvml()
  initNvml(nvml)
  const device = deviceOf(nvml, settings.device)
  const gpu = readNvmlName(nvml, device)
  if (settings.source !== 'auto')
    return { probe: openProbe(nvml, device, settings.source, settings), gpu }
  try {
    return { probe: openProbe(nvml, device, 'nvml-samples', settings), gpu }
  } catch {
    return { probe: openProbe(nvml, device, 'nvml-utilization', settings), gpu }
  }
}

function openProbe(
  nvml: NvmlLibrary,
  device: bigint,
  source: PressureSourceName,
  { everyMs }: PressureSettings,
): PressureProbe {
  if (source === 'nvml-samples') return createNvmlSamplesProbe(nvml, device)
  if (source === 'nvml-utilization') return createNvmlUtilizationProbe(nvml, device)
  // Samples closer than 100 ms mean nothing.
  return createGpmBandwidthProbe(nvml, device, { intervalMs: Math.max(100, everyMs) })
}

function deviceOf(nvml: NvmlLibrary, device: number | string): bigint {
  if (typeof device === 'number') return nvmlDeviceByIndex(nvml, device)
  return device.startsWith('GPU-') || device.startsWith('MIG-')
    ? nvmlDeviceByUuid(nvml, device)
    : nvmlDeviceByPciId(nvml, device)
}
