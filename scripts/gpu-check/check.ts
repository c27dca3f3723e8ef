/**
 * @module
 * What a check on a GPU is: it looks, measures, and says whether what must hold does. Checks never assume a count or a duration.
 */
import type { CudaLibrary } from '../../src/gpu/cuda.js'
import type { GpuDevice } from '../../src/gpu/device.js'
import type { GpuStages } from '../../src/gpu/gpu-stages.js'
import type { GreenContextLadder } from '../../src/gpu/green-context-ladder.js'

/** What every check may use. */
export interface CheckContext {
  readonly cuda: CudaLibrary
  readonly device: GpuDevice
  readonly ladder: GreenContextLadder
  readonly stages: GpuStages
  /** Shorter loops, for a dry run. */
  readonly quick: boolean
}

/** What a check returns: `failed` lists what did not hold; empty means that it passed. */
export interface CheckResult {
  readonly failed: readonly string[]
  /** Why nothing was checked; then `failed` is empty. */
  readonly skipped?: string
  readonly values: Readonly<Record<string, unknown>>
}

export interface Check {
  readonly name: string
  run(context: CheckContext): CheckResult
}

/** Median, 99th percentile and largest of nanoseconds or milliseconds. */
export function spread(values: readonly number[]): Record<'p50' | 'p99' | 'max', number> {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (q: number): number =>
    Number(
      (
        sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN
      ).toPrecision(4),
    )
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

/** Times each call by the monotonic clock, ns; the clock's own cost is in it and is reported beside. */
export function timeCalls(count: number, call: (i: number) => unknown): number[] {
  const times: number[] = new Array(count)
  for (let i = 0; i < count; i++) {
    const start = process.hrtime.bigint()
    call(i)
    times[i] = Number(process.hrtime.bigint() - start)
  }
  return times
}
