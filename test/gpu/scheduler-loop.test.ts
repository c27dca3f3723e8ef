/**
 * @module
 * The whole loop on the doubles: pressure by NVML, the core's cap controller, the Green Context actuator, and the SMs that kernels
 * then run on.
 */
import { expect, test } from 'vitest'
import { createGpuStages } from '../../src/gpu/gpu-stages.js'
import { createGreenContextActuator } from '../../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import { ladderSpec } from '../../src/gpu/ladder-description.js'
import { initNvml, nvmlDeviceByUuid, openNvml } from '../../src/gpu/nvml.js'
import { createNvmlUtilizationProbe } from '../../src/gpu/nvml-utilization.js'
import { createPressureSource } from '../../src/gpu/pressure-source.js'
import { sharedStepClock } from '../../src/gpu/step-clock.js'
import { createHorizon } from '../../src/index.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { NOTHING, openDoubleDevice } from './open-double.js'

describeDouble('the loop on the doubles', () => {
  test('a decision is in force on the GPU before the step runs', () => {
    const { cuda, device, live } = openDoubleDevice('sms=142;cc=89')
    const ladder = createGreenContextLadder(cuda, device, {
      levels: [40, 72, 104],
      sides: ['shared'],
    })
    cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
    const stages = createGpuStages(cuda, device, ladder.stream(ladder.offIndex, 'shared'))
    const path = nvmlDouble()
    const configure = tryOpenLibrary([path]).library?.bind(
      'void horizon_nvml_double_configure(const char *spec)',
    )
    configure?.('memory=0')
    const nvml = openNvml({ libraryPath: path })
    initNvml(nvml)
    const clock = sharedStepClock(new Float64Array(1))
    const probe = createNvmlUtilizationProbe(nvml, nvmlDeviceByUuid(nvml, device.uuid), { clock })
    const pressureSource = createPressureSource(probe, { clock })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    const promptTokens: [number, number][] = [
      [0, 15],
      [8192, 380],
    ]
    const horizon = createHorizon(
      {
        classes: {
          chat: { output: 'text', sloMs: 500 },
          speech: { output: 'audio', sloMs: 5000 },
        },
        profile: {
          chat: { shared: { promptTokens } },
          speech: { shared: { promptTokens }, downstream: { fixedMs: 450 } },
        },
        ladder: ladderSpec(ladder.describe()),
      },
      { actuator, pressureSource },
    )
    const levels: number[] = []
    const step = (nowMs: number, downstreamActive: boolean): void => {
      clock.ms[0] = nowMs
      const decision = horizon.step(nowMs, undefined, downstreamActive)
      levels.push(decision.level)
      expect(actuator.readBack()).toBe(decision.level)
      const ranOn = stages.probeSms(ladder.stream(decision.level, 'shared'))
      expect(ranOn).toHaveLength(decision.capSms)
      expect(ladder.rows[decision.level]?.sharedSms).toBe(decision.capSms)
    }
    step(1000, false)
    expect(levels.at(-1)).toBe(ladder.aggressiveIndex)
    step(1200, true)
    expect(levels.at(-1)).toBe(0)
    configure?.('memory=100')
    initNvml(nvml)
    for (let nowMs = 1400; nowMs < 4000; nowMs += 200) step(nowMs, true)
    expect(levels.at(-1)).toBe(2)
    step(4200, false)
    expect(levels.at(-1)).toBe(ladder.aggressiveIndex)
    stages.close()
    ladder.close()
    pressureSource.close()
    expect(live()).toEqual(NOTHING)
  })
})
