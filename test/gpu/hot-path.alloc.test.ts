import { expect, test } from 'vitest'
import { createGpmBandwidthProbe } from '../../src/gpu/gpm-bandwidth.js'
import { createGreenContextActuator } from '../../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import { initNvml, nvmlDeviceByIndex, openNvml } from '../../src/gpu/nvml.js'
import { createNvmlSamplesProbe } from '../../src/gpu/nvml-samples.js'
import { createNvmlUtilizationProbe } from '../../src/gpu/nvml-utilization.js'
import { createPressureSource } from '../../src/gpu/pressure-source.js'
import { sharedStepClock } from '../../src/gpu/step-clock.js'
import { nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { openDoubleDevice } from './open-double.js'

const CALLS = 50_000

/** Least of a dozen readings: what the runtime allocates in the background is not ours. */
function bytesPerCall(call: (i: number) => void): number {
  for (let i = 0; i < CALLS; i++) call(i)
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 12; round++) {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < CALLS; i++) call(i)
    const grown = process.memoryUsage().heapUsed - before
    if (grown >= 0) least = Math.min(least, grown / CALLS)
  }
  return least
}

describeDouble('after warm-up nothing is allocated per step', () => {
  test('by a switch and its read-back', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [40, 72, 104] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    const numRows = ladder.rows.length
    let wrong = 0
    const bytes = bytesPerCall((i) => {
      actuator.apply(i % numRows)
      if (actuator.readBack() !== i % numRows) wrong += 1
    })
    expect(wrong).toBe(0)
    expect(bytes).toBeLessThan(2)
    ladder.close()
  })

  test.each(['utilization', 'samples', 'gpm'] as const)('by a sample of %s', (kind) => {
    const nvml = openNvml({ libraryPath: nvmlDouble() })
    initNvml(nvml)
    const handle = nvmlDeviceByIndex(nvml, 0)
    const clock = sharedStepClock(new Float64Array([1]))
    const open = {
      utilization: createNvmlUtilizationProbe,
      samples: createNvmlSamplesProbe,
      gpm: createGpmBandwidthProbe,
    }[kind]
    const source = createPressureSource(open(nvml, handle, { clock }), { clock })
    const out = { value: 0, kind: '', timestampMs: 0, source: '' }
    // A step of 0.2 ms: renewals happen at their real rate.
    const bytes = bytesPerCall(() => {
      clock.ms[0] = (clock.ms[0] as number) + 0.2
      source.sample(out)
    })
    expect(bytes).toBeLessThan(2)
    source.close()
  })
})
