/**
 * @module
 * The two measuring stages on a device: a decode-like one that reads memory and a downstream-like one that computes, each sized so
 * that a step alone on the whole device takes about the time asked for; and the probe that tells which SMs a stream runs on.
 */
import type { CudaLibrary } from './cuda.js'
import type { GpuDevice } from './device.js'
import { closedStageError, type Launch, loadKernels, prepareLaunch } from './kernel-module.js'
import { STAGE_PTX } from './stage-ptx.js'
import { createStepTimer, quantile } from './step-timer.js'

/** One stage; a step is one kernel. */
export interface GpuStage {
  readonly name: 'memory' | 'compute'
  /** Bytes that a step reads from device memory; 0 for the computing stage. */
  readonly bytesPerStep: number
  enqueue(stream: bigint): void
}

/** The stages with their memory. */
export interface GpuStages {
  readonly memory: GpuStage
  readonly compute: GpuStage
  /** SM ids that blocks on a stream ran on, rising. The stream's context must be current. */
  probeSms(stream: bigint, spinClocks?: number): number[]
  close(): void
}

/** How to size the stages. */
export interface GpuStagesOptions {
  /** Time of a step alone on the whole device. @default 2 */
  readonly stepMs?: number
  /** Memory that is read. @default the larger of 256 MiB and eight times the L2 cache, so that it cannot be cached */
  readonly bytes?: number
}

const BLOCK = 256
/** Enough blocks that a count of SMs which divides them badly loses little in the last wave. */
const BLOCKS_PER_SM = 16
const COMPUTE_BLOCKS_PER_SM = 8
const MIN_BYTES = 256 * 2 ** 20

/** Loads the kernels and sizes the stages. The device's primary context must be current. */
export function createGpuStages(
  cuda: CudaLibrary,
  device: GpuDevice,
  stream: bigint,
  options: GpuStagesOptions = {},
): GpuStages {
  const stepMs = options.stepMs ?? 2
  const bytes = Math.floor((options.bytes ?? Math.max(MIN_BYTES, 8 * device.l2Bytes)) / 16) * 16
  const undo: (() => void)[] = []
  const close = (): void => {
    for (const step of undo.splice(0).reverse()) step()
  }
  try {
    const isClosed = (): boolean => undo.length === 0
    const kernels = loadKernels(cuda, STAGE_PTX)
    undo.push(kernels.close)
    const allocate = (size: number): bigint => {
      cuda.call('cuMemAlloc_v2', cuda.out.pointer, size)
      const address = cuda.out.u64[0] as bigint
      undo.push(() => cuda.raw('cuMemFree_v2')(address))
      return address
    }
    const source = allocate(bytes)
    cuda.call('cuMemsetD32_v2', source, 1, bytes / 4)
    const sink = allocate(256)
    const numProbes = device.numSms * 8
    const smids = allocate(numProbes * 4)
    const prepare = (
      name: string,
      grid: number,
      args: Parameters<typeof prepareLaunch>[4],
    ): Launch => {
      const launch = prepareLaunch(cuda, kernels.kernel(name), grid, BLOCK, args)
      undo.push(launch.free)
      return launch
    }
    const memoryLaunch = (passes: number): Launch =>
      prepare('horizon_memory', device.numSms * BLOCKS_PER_SM, [
        { type: 'pointer', value: source },
        { type: 'pointer', value: sink },
        { type: 'u64', value: BigInt(bytes / 16) },
        { type: 'u32', value: passes },
      ])
    const computeLaunch = (iterations: number): Launch =>
      prepare('horizon_compute', device.numSms * COMPUTE_BLOCKS_PER_SM, [
        { type: 'pointer', value: sink },
        { type: 'u32', value: iterations },
      ])
    const scale = (launch: Launch, size: number, least: number): number => {
      const ms = stepTime(cuda, launch, stream)
      return Math.max(least, Math.min(2 ** 31, Math.round((size * stepMs) / Math.max(ms, 1e-3))))
    }
    const passes = scale(memoryLaunch(1), 1, 1)
    const iterations = scale(computeLaunch(10_000), 10_000, 1)
    const memory = memoryLaunch(passes)
    const compute = computeLaunch(iterations)
    return {
      memory: { name: 'memory', bytesPerStep: bytes * passes, enqueue: memory.enqueue },
      compute: { name: 'compute', bytesPerStep: 0, enqueue: compute.enqueue },
      probeSms(on, spinClocks = 200_000) {
        if (isClosed()) throw closedStageError()
        const launch = prepareLaunch(cuda, kernels.kernel('horizon_smid'), numProbes, 32, [
          { type: 'pointer', value: smids },
          { type: 'u64', value: BigInt(spinClocks) },
        ])
        try {
          launch.enqueue(on)
          cuda.call('cuStreamSynchronize', on)
        } finally {
          launch.free()
        }
        const host = new Uint32Array(numProbes)
        cuda.call('cuMemcpyDtoH_v2', host, smids, host.byteLength)
        return [...new Set(host)].sort((a, b) => a - b)
      },
      close,
    }
  } catch (error) {
    close()
    throw error
  }
}

/** Median of five steps after one to warm up, ms. */
function stepTime(cuda: CudaLibrary, launch: Launch, stream: bigint): number {
  const timer = createStepTimer(cuda, 5)
  try {
    launch.enqueue(stream)
    timer.mark(stream)
    for (let i = 0; i < 5; i++) {
      launch.enqueue(stream)
      timer.mark(stream)
    }
    return quantile(timer.finish(), 0.5)
  } finally {
    timer.close()
  }
}
