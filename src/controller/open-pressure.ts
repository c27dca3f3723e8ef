/**
 * @module
 * The pressure source that a configuration asks for, on the GPU that it names. `auto` takes the kind that the paper samples, memory
 * activity, with the driver's timestamps where it gives them. It never takes DRAM bandwidth: a saturation belongs to a kind, so that
 * one is for who asks for it by name.
 */
import { HorizonError } from '../core/errors.js'
import { createBelievableProbe } from '../gpu/believable-probe.js'
import { createFallbackProbe } from '../gpu/fallback-probe.js'
import { createGpmBandwidthProbe } from '../gpu/gpm-bandwidth.js'
import { migInstanceOf } from '../gpu/mig.js'
import {
  initNvml,
  type NvmlLibrary,
  nvmlDeviceByIndex,
  nvmlDeviceByPciId,
  nvmlDeviceByUuid,
  openNvml,
  readNvmlName,
  sharesHostMemory,
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
  const isInstance = migInstanceOf(nvml, device) !== undefined
  const gpu = readNvmlName(nvml, device) + (isInstance ? ' (a MIG instance)' : '')
  if (settings.source !== 'gpm-dram-bandwidth') refuseWithoutActivity(nvml, device, gpu, isInstance)
  if (settings.source !== 'auto')
    return { probe: openProbe(nvml, device, settings.source, settings), gpu }
  const second = (): PressureProbe => openProbe(nvml, device, 'nvml-utilization', settings)
  let first: PressureProbe
  try {
    first = openProbe(nvml, device, 'nvml-samples', settings)
  } catch {
    return { probe: second(), gpu }
  }
  return { probe: createFallbackProbe(first, second), gpu }
}

/** What has no memory activity of its own, however its library answers. */
function refuseWithoutActivity(
  nvml: NvmlLibrary,
  device: bigint,
  gpu: string,
  isInstance: boolean,
): void {
  if (isInstance)
    throw new HorizonError('ERR_GPU_METRIC_UNAVAILABLE', `${gpu} has no utilisation of its own`, {
      hint: 'Use the source `gpm-dram-bandwidth`, which knows instances on Hopper and newer',
    })
  if (sharesHostMemory(nvml, device))
    throw new HorizonError(
      'ERR_GPU_METRIC_UNAVAILABLE',
      `${gpu} shares the host's memory, and its memory activity reads 0 whatever it does`,
      { hint: 'There is no pressure to be had from it: the cap follows downstream activity' },
    )
}

function openProbe(
  nvml: NvmlLibrary,
  device: bigint,
  source: PressureSourceName,
  { everyMs }: PressureSettings,
): PressureProbe {
  if (source === 'nvml-samples')
    return createBelievableProbe(createNvmlSamplesProbe(nvml, device), nvml, device)
  if (source === 'nvml-utilization')
    return createBelievableProbe(createNvmlUtilizationProbe(nvml, device), nvml, device)
  // Samples 100 ms apart or closer mean nothing.
  return createGpmBandwidthProbe(nvml, device, { intervalMs: Math.max(110, everyMs) })
}

function deviceOf(nvml: NvmlLibrary, device: number | string): bigint {
  if (typeof device === 'number') return nvmlDeviceByIndex(nvml, device)
  return device.startsWith('GPU-') || device.startsWith('MIG-')
    ? nvmlDeviceByUuid(nvml, device)
    : nvmlDeviceByPciId(nvml, device)
}
