/**
 * @module
 * What NVML offers: driver version, devices, which pressure sources work, and whether CUDA and NVML mean the same GPUs.
 */
import type { GpuDevice } from './device.js'
import { attention, type Finding, findingOf, fine } from './finding.js'
import { supportsGpm } from './gpm-bandwidth.js'
import { migInstanceOf, nvmlDeviceOfCuda } from './mig.js'
import {
  countNvmlDevices,
  initNvml,
  type NvmlLibrary,
  type NvmlOptions,
  nvmlDeviceByIndex,
  openNvml,
  readDriverVersion,
  readNvmlName,
  readNvmlUuid,
  sharesHostMemory,
} from './nvml.js'
import { createNvmlSamplesProbe } from './nvml-samples.js'
import { createNvmlUtilizationProbe } from './nvml-utilization.js'

/** Looks at NVML; `devices` are those that CUDA sees. Never throws for what an environment can lack. */
export function checkNvml(devices: readonly GpuDevice[], options: NvmlOptions = {}): Finding[] {
  let nvml: NvmlLibrary
  try {
    nvml = openNvml(options)
    initNvml(nvml)
  } catch (error) {
    return [findingOf('nvml', error)]
  }
  const findings: Finding[] = []
  try {
    findings.push(fine('nvml', `NVML answers; driver ${readDriverVersion(nvml)}`))
    const uuids: string[] = []
    const count = countNvmlDevices(nvml)
    for (let i = 0; i < count; i++) {
      const handle = nvmlDeviceByIndex(nvml, i)
      uuids.push(readNvmlUuid(nvml, handle))
      const own = devices.find((device) => device.uuid === uuids[i])
      findings.push(checkSources(nvml, handle, i, own?.isIntegrated === true))
    }
    findings.push(matchDevices(nvml, devices, uuids))
  } catch (error) {
    findings.push(findingOf('nvml.devices', error))
  }
  return findings
}

/** Which pressure sources a device has. */
function checkSources(
  nvml: NvmlLibrary,
  handle: bigint,
  index: number,
  isIntegrated: boolean,
): Finding {
  const id = `nvml.device.${index}.pressure`
  const name = readNvmlName(nvml, handle)
  if (isIntegrated || sharesHostMemory(nvml, handle))
    return attention(
      id,
      'warning',
      `NVML device ${index} (${name}) shares the host's memory: its memory activity reads 0 whatever it does, so pressure is unknown`,
      'The cap then follows downstream activity alone',
    )
  const works: string[] = []
  const fails: string[] = []
  const attempt = (source: string, open: () => { close(): void }): void => {
    try {
      open().close()
      works.push(source)
    } catch (error) {
      fails.push(`${source}: ${findingOf(id, error).text}`)
    }
  }
  attempt('nvml-utilization', () => createNvmlUtilizationProbe(nvml, handle))
  attempt('nvml-samples', () => createNvmlSamplesProbe(nvml, handle))
  if (supportsGpm(nvml, handle)) works.push('gpm-dram-bandwidth')
  else fails.push('gpm-dram-bandwidth: needs Hopper or newer, and driver 525')
  const text = `NVML device ${index} (${name}): pressure from ${works.join(', ') || 'nothing'}`
  if (works.length === 0)
    return attention(
      id,
      'warning',
      `${text} (${fails.join('; ')})`,
      'The cap then follows downstream activity alone',
    )
  return fine(id, fails.length === 0 ? text : `${text}; not from ${fails.join('; ')}`)
}

/** The two libraries number devices differently; only the UUID says which is which. */
function matchDevices(
  nvml: NvmlLibrary,
  devices: readonly GpuDevice[],
  uuids: readonly string[],
): Finding {
  const id = 'match'
  if (devices.length === 0)
    return attention(
      id,
      'missing',
      `NVML sees ${uuids.length} GPUs, CUDA none`,
      'See the lines on CUDA',
    )
  const strangers = devices.filter((device) => !uuids.includes(device.uuid))
  const instances = strangers.filter((device) => isInstance(nvml, device.uuid))
  if (instances.length > 0)
    return attention(
      id,
      'warning',
      `${instances.map((d) => `CUDA device ${d.index} is a MIG instance with ${d.numSms} SMs (${d.uuid.replace('GPU-', 'MIG-')})`).join(', ')}`,
      'Ladders are bounded by those SMs; utilisation is not there for an instance: name it as `pressure.device` with the source gpm-dram-bandwidth, or the cap follows activity',
    )
  if (strangers.length > 0)
    return attention(
      id,
      'warning',
      `NVML does not know ${strangers.map((d) => `CUDA device ${d.index} (${d.uuid})`).join(', ')}`,
      'Pressure cannot be read for it: another driver stack is in between',
    )
  const pairs = devices.map((d) => `CUDA ${d.index} is NVML ${uuids.indexOf(d.uuid)}`)
  return fine(id, `CUDA and NVML agree by UUID: ${pairs.join(', ')}`)
}

function isInstance(nvml: NvmlLibrary, uuid: string): boolean {
  try {
    return migInstanceOf(nvml, nvmlDeviceOfCuda(nvml, uuid)) !== undefined
  } catch {
    return false
  }
}
