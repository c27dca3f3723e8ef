/**
 * @module
 * What the CUDA driver offers: library, version, devices, and on each device how its SMs can be split, symbol by symbol.
 */
import { type CudaLibrary, type CudaOptions, initCuda, openCuda } from './cuda.js'
import { CUDA_GREEN, type CudaSymbol } from './cuda-symbols.js'
import { countDevices, type GpuDevice, openDevice } from './device.js'
import { attention, type Finding, findingOf, fine } from './finding.js'
import { createGreenContextLadder } from './green-context-ladder.js'
import { allocateResources, queryDeviceSms } from './sm-resource.js'

/** Findings, and the devices they are about. */
export interface CudaReport {
  readonly findings: readonly Finding[]
  readonly devices: readonly GpuDevice[]
}

/** Looks at the driver. Never throws for what an environment can lack. */
export function checkCuda(options: CudaOptions = {}): CudaReport {
  const findings: Finding[] = []
  let cuda: CudaLibrary
  try {
    cuda = openCuda(options)
  } catch (error) {
    return { findings: [findingOf('cuda.library', error)], devices: [] }
  }
  findings.push(
    fine('cuda.library', `${cuda.path} loads and speaks CUDA ${formatVersion(cuda.version)}`),
    checkSymbols(cuda),
  )
  const devices: GpuDevice[] = []
  try {
    initCuda(cuda)
    const count = countDevices(cuda)
    for (let i = 0; i < count; i++) devices.push(openDevice(cuda, i))
  } catch (error) {
    findings.push(findingOf('cuda.init', error))
    return { findings, devices }
  }
  for (const device of devices) findings.push(...checkDevice(cuda, device))
  return { findings, devices }
}

/** Green Context support, function by function. */
function checkSymbols(cuda: CudaLibrary): Finding {
  const id = 'cuda.green-context'
  const base = Object.keys(CUDA_GREEN) as CudaSymbol[]
  const absent = base.filter((symbol) => !cuda.has(symbol))
  if (absent.length === base.length)
    return attention(
      id,
      'missing',
      'the driver has no Green Contexts',
      'Install driver 550 or newer; until then use the MPS actuator or none',
    )
  if (absent.length > 0)
    return attention(
      id,
      'missing',
      `the driver lacks ${absent.join(', ')}`,
      'Green Contexts are incomplete here: install another driver',
    )
  const later = (['cuGreenCtxStreamCreate', 'cuDevSmResourceSplit'] as const).map(
    (symbol) => `${symbol} ${cuda.has(symbol) ? 'yes' : 'no'}`,
  )
  return fine(id, `Green Contexts: all ${base.length} base functions (${later.join(', ')})`)
}

function checkDevice(cuda: CudaLibrary, device: GpuDevice): Finding[] {
  const id = `cuda.device.${device.index}`
  const findings = [
    fine(
      id,
      `GPU ${device.index}: ${device.name}, compute capability ${device.ccMajor}.${device.ccMinor}, ${device.numSms} SMs, ${device.uuid}`,
    ),
  ]
  if (device.computeMode === 3)
    findings.push(
      attention(
        `${id}.compute-mode`,
        'warning',
        `GPU ${device.index} is in exclusive-process mode`,
        'Stages in several processes need MPS, or the default mode: nvidia-smi -c DEFAULT',
      ),
    )
  if (!cuda.has('cuDeviceGetDevResource')) return findings
  const resources = allocateResources(1)
  try {
    const { numSms, minSms, alignSms } = queryDeviceSms(cuda, device, resources)
    const ladder = createGreenContextLadder(cuda, device, {
      levels: [Math.floor(numSms / 2)],
      dryRun: true,
    })
    const { numGroups, groupSms } = ladder.describe()
    ladder.close()
    findings.push(
      fine(
        `${id}.split`,
        `GPU ${device.index}: partitions of at least ${minSms} SMs in steps of ${alignSms}; one split gives ${numGroups} groups of ${groupSms} and ${numSms - numGroups * groupSms} left over`,
      ),
    )
  } catch (error) {
    findings.push(findingOf(`${id}.split`, error))
  } finally {
    resources.buffer.free()
  }
  return findings
}

function formatVersion(version: number): string {
  return version === 0
    ? '(none: no kernel driver)'
    : `${Math.floor(version / 1000)}.${(version % 1000) / 10}`
}
