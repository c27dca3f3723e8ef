/**
 * @module
 * Pressure that knows when it knows nothing: integrated GPUs, MIG instances, drivers without samples, NVML that goes and comes back.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openPressure, type PressureSettings } from '../../src/controller/open-pressure.js'
import type { PressureSample } from '../../src/core/ports.js'
import { createBelievableProbe } from '../../src/gpu/believable-probe.js'
import { checkNvml } from '../../src/gpu/check-nvml.js'
import type { GpuDevice } from '../../src/gpu/device.js'
import { createFallbackProbe } from '../../src/gpu/fallback-probe.js'
import { initNvml, nvmlDeviceByIndex, nvmlDeviceByUuid, openNvml } from '../../src/gpu/nvml.js'
import { createNvmlSamplesProbe } from '../../src/gpu/nvml-samples.js'
import { createNvmlUtilizationProbe } from '../../src/gpu/nvml-utilization.js'
import { createPressureSource } from '../../src/gpu/pressure-source.js'
import { sharedStepClock } from '../../src/gpu/step-clock.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { hasCompiler, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { thrown } from './open-double.js'

const INSTANCE = 'MIG-00112233-4455-6677-8899-aabbccddeeff'

describeDouble('pressure that is not known', () => {
  const path = hasCompiler ? nvmlDouble() : ''
  const library = hasCompiler ? tryOpenLibrary([path]).library : undefined
  const configure = library?.bind('void horizon_nvml_double_configure(const char *spec)')
  const ms = new Float64Array(1)
  const clock = sharedStepClock(ms)
  const out: PressureSample = { value: Number.NaN, kind: '', timestampMs: Number.NaN, source: '' }
  const setUp = (spec: string): { nvml: ReturnType<typeof openNvml>; device: bigint } => {
    configure?.(spec)
    const nvml = openNvml({ libraryPath: path })
    initNvml(nvml)
    return { nvml, device: nvmlDeviceByIndex(nvml, 0) }
  }
  const settings = (more: Partial<PressureSettings> = {}): PressureSettings => ({
    source: 'auto',
    device: 0,
    everyMs: 100,
    ...more,
  })
  const before = process.env.HORIZON_LIBNVML
  beforeEach(() => {
    ms[0] = 1000
    process.env.HORIZON_LIBNVML = path
  })
  afterEach(() => {
    if (before === undefined) delete process.env.HORIZON_LIBNVML
    else process.env.HORIZON_LIBNVML = before
  })

  test('an integrated GPU is refused in words, and doctor says so instead of failing', () => {
    const { nvml } = setUp('gpu=95;memory=0;memoryrc=3')
    const error = thrown(() => openPressure(settings()))
    expect(error).toMatchObject({ code: 'ERR_GPU_METRIC_UNAVAILABLE' })
    expect(error.message).toContain("shares the host's memory")
    const findings = checkNvml([], { libraryPath: nvml.path })
    const finding = findings.find((f) => f.id === 'nvml.device.0.pressure')
    expect(finding).toMatchObject({ status: 'warning' })
    expect(finding?.text).toContain('pressure is unknown')
  })

  test.each(['samples', 'utilization'])(
    '%s: a 0 from a GPU that computes is not believed, and another number is',
    (which) => {
      const { nvml, device } = setUp('gpu=95;memory=0;periodus=1000')
      const inner =
        which === 'samples'
          ? createNvmlSamplesProbe(nvml, device, { clock })
          : createNvmlUtilizationProbe(nvml, device, { clock })
      const said: string[] = []
      const source = createPressureSource(createBelievableProbe(inner, nvml, device), {
        clock,
        onFailure: (text) => said.push(text),
      })
      const advance = library?.bind('void horizon_nvml_double_advance(int us)')
      let known = true
      for (let i = 0; i < 60; i++) {
        ms[0] = (ms[0] as number) + 170
        advance?.(170_000)
        known = source.sample(out)
      }
      expect(known).toBe(false)
      expect(said).toHaveLength(1)
      expect(said[0]).toContain('reads 0 while the GPU computes')
      configure?.('started=1;gpu=95;memory=40;periodus=1000')
      advance?.(20_000_000)
      ms[0] = (ms[0] as number) + 170
      expect(source.sample(out)).toBe(true)
      expect(out.value).toBe(0.4)
      source.close()
    },
  )

  test('a 0 from an idle GPU is a reading', () => {
    const { nvml, device } = setUp('gpu=3;memory=0')
    const probe = createBelievableProbe(
      createNvmlUtilizationProbe(nvml, device, { clock }),
      nvml,
      device,
    )
    const source = createPressureSource(probe, { clock })
    for (let i = 0; i < 60; i++) {
      ms[0] = (ms[0] as number) + 170
      expect(source.sample(out)).toBe(true)
    }
    expect(out.value).toBe(0)
    source.close()
  })

  test('samples that never come give way to utilisation, and come back', () => {
    const { nvml, device } = setUp('memory=30;stuck=1')
    const probe = createFallbackProbe(
      createNvmlSamplesProbe(nvml, device, { clock }),
      () => createNvmlUtilizationProbe(nvml, device, { clock }),
      { clock, afterMs: 2000, retryMs: 10_000 },
    )
    const source = createPressureSource(probe, { clock })
    expect(source.sample(out)).toBe(false)
    ms[0] = 3100
    expect(source.sample(out)).toBe(true)
    expect(out).toMatchObject({ value: 0.3, source: 'nvml-utilization' })
    configure?.('started=1;memory=60')
    ms[0] = 13_200
    expect(source.sample(out)).toBe(true)
    expect(out).toMatchObject({ value: 0.6, source: 'nvml-samples' })
    source.close()
  })

  test('a source says that it has ended, so that somebody may open it again', () => {
    const { nvml, device } = setUp('memory=30')
    const source = createPressureSource(createNvmlUtilizationProbe(nvml, device, { clock }), {
      clock,
    })
    expect(source.sample(out)).toBe(true)
    expect(source.hasEnded()).toBe(false)
    configure?.('started=1;ratesrc=15')
    source.sample(out)
    expect(source.hasEnded()).toBe(true)
  })

  test('a MIG instance: said by doctor, refused for utilisation, bandwidth by way of its GPU', () => {
    const { nvml } = setUp('mig=1;dramtenths=300')
    expect(thrown(() => openPressure(settings({ device: INSTANCE }))).message).toContain(
      'MIG instance',
    )
    const instance = nvmlDeviceByUuid(nvml, INSTANCE)
    expect(instance).not.toBe(nvmlDeviceByIndex(nvml, 0))
    const { probe, gpu } = openPressure(
      settings({ device: INSTANCE, source: 'gpm-dram-bandwidth' }),
    )
    expect(gpu).toContain('MIG instance')
    expect(probe.kind).toBe('dram-bandwidth')
    probe.close()
    const device = {
      index: 0,
      numSms: 14,
      uuid: INSTANCE.replace('MIG-', 'GPU-'),
      isIntegrated: false,
    } as GpuDevice
    const match = checkNvml([device], { libraryPath: path }).find((f) => f.id === 'match')
    expect(match?.text).toContain('MIG instance with 14 SMs')
    expect(match?.text).toContain(INSTANCE)
  })
})
