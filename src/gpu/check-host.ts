/**
 * @module
 * What the host offers beside the GPU: MPS, shared memory, and the engines that Python can import.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { GpuDevice } from './device.js'
import { attention, type Finding, fine } from './finding.js'

/** Where to look. A test points these elsewhere. */
export interface HostOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** @default /dev/shm */
  readonly sharedMemory?: string
  /** @default python3, or the one in VIRTUAL_ENV */
  readonly python?: string
}

/** Segments are a few MiB; Docker's default of 64 MiB is enough for one engine but not for what vLLM itself puts there. */
const SMALL_SHM_BYTES = 256 * 2 ** 20

/** MPS, by its environment, its pipe directory and what the driver says of this process. */
export function checkMps(devices: readonly GpuDevice[], options: HostOptions = {}): Finding[] {
  const env = options.env ?? process.env
  const findings: Finding[] = []
  const pipe = env.CUDA_MPS_PIPE_DIRECTORY ?? '/tmp/nvidia-mps'
  const runs = existsSync(join(pipe, 'control'))
  const percentage = env.CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
  if (devices.some((device) => device.isMpsClient === true))
    findings.push(fine('mps', `this process is an MPS client (${pipe})`))
  else if (runs)
    findings.push(
      attention(
        'mps',
        'warning',
        `an MPS daemon has its pipe in ${pipe}, but this process is no client of it`,
        'Start the stages with the same CUDA_MPS_PIPE_DIRECTORY and user as the daemon',
      ),
    )
  else
    findings.push(
      attention(
        'mps',
        'warning',
        `no MPS daemon has its pipe in ${pipe}`,
        'Stages in separate processes time-slice without MPS, and SM caps do nothing: nvidia-cuda-mps-control -d',
      ),
    )
  if (percentage !== undefined && percentage !== '100')
    findings.push(
      attention(
        'mps.percentage',
        'warning',
        `CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is ${percentage}`,
        'Green Contexts may then run on more SMs than they were given: unset it, or use the MPS actuator',
      ),
    )
  return findings
}

/** Size and rights of shared memory, where segments are created. */
export function checkSharedMemory(options: HostOptions = {}): Finding {
  const path = options.sharedMemory ?? '/dev/shm'
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return attention(
      'shm',
      'missing',
      `${path} is not there or not writable`,
      'The engine adapter needs it: mount a tmpfs there, writable for this user',
    )
  }
  const { bsize, blocks, bavail } = statfsSync(path)
  const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`
  const text = `${path} is writable, ${mib(bavail * bsize)} free of ${mib(blocks * bsize)}`
  return blocks * bsize < SMALL_SHM_BYTES
    ? attention(
        'shm',
        'warning',
        text,
        'Small for an engine: docker run --shm-size=2g (or --ipc=host)',
      )
    : fine('shm', text)
}

const PYTHON_PROBE = `
import importlib.metadata as m, json, sys
def v(n):
    try: return m.version(n)
    except m.PackageNotFoundError: return None
print(json.dumps({"python": sys.version.split()[0], **{n: v(n) for n in ("vllm", "vllm-omni", "torch", "horizonserve")}}))
`

/** Versions of Python and of the engines it can import, without importing them. */
export function checkPython(options: HostOptions = {}): Finding[] {
  const env = options.env ?? process.env
  const python =
    options.python ??
    (env.VIRTUAL_ENV === undefined ? 'python3' : join(env.VIRTUAL_ENV, 'bin/python'))
  let versions: Record<string, string | null>
  try {
    const text = execFileSync(python, ['-c', PYTHON_PROBE], {
      encoding: 'utf8',
      timeout: 20_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    versions = JSON.parse(text) as Record<string, string | null>
  } catch {
    return [
      attention(
        'python',
        'missing',
        `${python} does not run`,
        'Only the shim inside an engine needs Python: activate the environment of the engine',
      ),
    ]
  }
  const findings = [fine('python', `Python ${versions.python} (${python})`)]
  for (const name of ['vllm', 'vllm-omni', 'torch', 'horizonserve']) {
    const version = versions[name]
    findings.push(
      version == null
        ? attention(
            `python.${name}`,
            'missing',
            `Python finds no ${name}`,
            name === 'horizonserve'
              ? 'Install the shim into the engine: pip install ./python'
              : 'Needed only to drive a real engine: activate its environment',
          )
        : fine(`python.${name}`, `${name} ${version}`),
    )
  }
  return findings
}
