/**
 * @module
 * Looks at everything this library may use of a machine, and says what is there, what is not, and what works anyway.
 */
import { loadKoffi } from '../native/koffi.js'
import { checkCuda } from './check-cuda.js'
import { checkMps, checkPython, checkSharedMemory, type HostOptions } from './check-host.js'
import { checkNvml } from './check-nvml.js'
import type { CudaOptions } from './cuda.js'
import { attention, type Finding, fine } from './finding.js'
import type { NvmlOptions } from './nvml.js'

/** Where to look; each part has its own default. */
export interface DoctorOptions {
  readonly cuda?: CudaOptions
  readonly nvml?: NvmlOptions
  readonly host?: HostOptions
}

/** What was found. */
export interface DoctorReport {
  readonly findings: readonly Finding[]
  /** GPUs visible to CUDA in this process. */
  readonly numGpus: number
  /** One sentence: whether there is a GPU to use. */
  readonly summary: string
  /** What works on this machine as it is. */
  readonly works: readonly string[]
}

const ALWAYS = [
  'scheduling in process (wrap), policies, configuration',
  'simulate, report, calibrate from recorded files',
  'analyze, plan, mcp',
]

/** Runs every check; nothing is changed on the machine. */
export function runDoctor(options: DoctorOptions = {}): DoctorReport {
  const findings: Finding[] = []
  const hasNative = checkNative(findings)
  const cuda = hasNative ? checkCuda(options.cuda) : { findings: [], devices: [] }
  findings.push(...cuda.findings)
  const nvml = hasNative ? checkNvml(cuda.devices, options.nvml) : []
  findings.push(...nvml)
  const numGpus = cuda.devices.length
  if (numGpus > 0) findings.push(...checkMps(cuda.devices, options.host))
  const shm = checkSharedMemory(options.host)
  findings.push(shm, ...checkPython(options.host))
  const works = [...ALWAYS]
  if (hasNative && shm.status !== 'missing') works.push('run (engine over shared memory), watch')
  const canSplit = findings.some(
    (f) => /^cuda\.device\.\d+\.split$/.test(f.id) && f.status === 'ok',
  )
  if (canSplit) works.push('Green Context ladder, sweep')
  if (nvml.some((f) => f.id.endsWith('.pressure') && f.status === 'ok'))
    works.push('pressure by NVML')
  return {
    findings,
    numGpus,
    summary:
      numGpus === 0
        ? 'No GPU: this process sees none. Caps are not applied and pressure is unknown; everything else works.'
        : `${numGpus} GPU${numGpus === 1 ? '' : 's'} visible${canSplit ? ', SMs can be partitioned' : '; SMs cannot be partitioned here'}.`,
    works,
  }
}

function checkNative(findings: Finding[]): boolean {
  const id = 'native'
  const what = `Node ${process.version} on ${process.platform}-${process.arch}`
  try {
    loadKoffi()
    findings.push(fine(id, `${what}; koffi loads`))
    return true
  } catch (error) {
    findings.push(
      attention(
        id,
        'missing',
        `${what}; ${(error as Error).message}`,
        'Without koffi there is no GPU access and no shared memory',
      ),
    )
    return false
  }
}
