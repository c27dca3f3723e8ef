/**
 * @module
 * What a level switch and a pressure sample cost on our side: the call through koffi with everything around it, against doubles that
 * return at once. The driver's own part is not in it; on a real GPU `scripts/gpu-check.sh` measures both together (the paper,
 * from Python with a GPU behind: 4,800 and 1,300 ns).
 */

import { initCuda, openCuda } from '../src/gpu/cuda.js'
import { openDevice } from '../src/gpu/device.js'
import { createGreenContextActuator } from '../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../src/gpu/green-context-ladder.js'
import { initNvml, nvmlDeviceByIndex, openNvml } from '../src/gpu/nvml.js'
import { createNvmlUtilizationProbe } from '../src/gpu/nvml-utilization.js'
import { createPressureSource } from '../src/gpu/pressure-source.js'
import { createMonotonicClock, sharedStepClock } from '../src/gpu/step-clock.js'
import { cudaDouble, hasCompiler, nvmlDouble } from '../test/abi/double/build.js'
import type { Bench, BenchContext } from './bench.js'

/** One row: nanoseconds per call over batches, and heap bytes per call. */
interface CallCost {
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly bytesPerCall: number
}

/** Calls per timed batch: one call is too short for the clock, whose own cost would be half of it. */
const BATCH = 200

export const bench: Bench = {
  name: 'gpu-native',
  question: 'What do a Green Context switch and an NVML sample cost on our side?',
  async run(context) {
    if (!hasCompiler) return { gpuNative: { skipped: 'no gcc: the doubles cannot be compiled' } }
    const cuda = openCuda({ libraryPath: cudaDouble() })
    initCuda(cuda)
    const device = openDevice(cuda)
    const ladder = createGreenContextLadder(cuda, device, { levels: [40, 72, 104] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    const nvml = openNvml({ libraryPath: nvmlDouble() })
    initNvml(nvml)
    const handle = nvmlDeviceByIndex(nvml, 0)
    // The scheduler reads its clock once per step; a source that shares it reads none of its own.
    const step = new Float64Array([1])
    const clock = sharedStepClock(step)
    const shared = createPressureSource(createNvmlUtilizationProbe(nvml, handle, { clock }), {
      clock,
    })
    const own = createPressureSource(createNvmlUtilizationProbe(nvml, handle))
    const monotonic = createMonotonicClock()
    const out = { value: 0, kind: '', timestampMs: 0, source: '' }
    const numRows = ladder.rows.length
    const rows = {
      switchNs: measure(context, (i) => actuator.apply(i % numRows)),
      readBackNs: measure(context, () => actuator.readBack()),
      sampleNs: measure(context, (i) => {
        step[0] = i
        shared.sample(out)
      }),
      sampleWithOwnClockNs: measure(context, () => own.sample(out)),
      monotonicClockNs: measure(context, () => monotonic.read()),
    }
    ladder.close()
    return rows
  },
}

function measure(context: BenchContext, call: (i: number) => unknown): CallCost {
  const batches = context.quick ? 300 : 5000
  const times = new Float64Array(batches)
  let n = 0
  const batch = (): void => {
    for (let i = 0; i < BATCH; i++) call(n++)
  }
  for (let i = 0; i < 200; i++) batch()
  for (let i = 0; i < batches; i++) {
    const start = process.hrtime.bigint()
    batch()
    times[i] = Number(process.hrtime.bigint() - start) / BATCH
  }
  // Best of five: what the runtime itself allocates in the background is not ours.
  let bytesPerCall = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 100; i++) batch()
    const grown = process.memoryUsage().heapUsed - before
    if (grown >= 0) bytesPerCall = Math.min(bytesPerCall, grown / (100 * BATCH))
  }
  times.sort()
  const at = (q: number): number => Math.round(times[Math.ceil(q * batches) - 1] as number)
  return {
    p50: at(0.5),
    p99: at(0.99),
    max: at(1),
    bytesPerCall: Number(bytesPerCall.toFixed(2)),
  }
}
