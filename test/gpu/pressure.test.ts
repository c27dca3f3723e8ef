import { beforeEach, expect, test } from 'vitest'
import type { PressureSample } from '../../src/core/ports.js'
import { createGpmBandwidthProbe, supportsGpm } from '../../src/gpu/gpm-bandwidth.js'
import {
  initNvml,
  nvmlDeviceByIndex,
  nvmlDeviceByPciId,
  nvmlDeviceByUuid,
  openNvml,
  readDriverVersion,
  readNvmlMemory,
  readNvmlName,
  readNvmlUuid,
} from '../../src/gpu/nvml.js'
import { createNvmlSamplesProbe } from '../../src/gpu/nvml-samples.js'
import { createNvmlUtilizationProbe } from '../../src/gpu/nvml-utilization.js'
import { createNoPressureSource, createPressureSource } from '../../src/gpu/pressure-source.js'
import { createMonotonicClock, sharedStepClock } from '../../src/gpu/step-clock.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { hasCompiler, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { thrown } from './open-double.js'

function empty(): PressureSample {
  return { value: Number.NaN, kind: '', timestampMs: Number.NaN, source: '' }
}

test('NVML that is not there, or is something else, is told apart', () => {
  expect(thrown(() => openNvml({ libraryPath: '/nowhere/libnvidia-ml.so.1' }))).toMatchObject({
    code: 'ERR_GPU_NVML_UNAVAILABLE',
  })
  expect(thrown(() => openNvml({ libraryPath: 'libm.so.6' }))).toMatchObject({
    code: 'ERR_GPU_LIBRARY_FOREIGN',
  })
})

describeDouble('pressure on the NVML double', () => {
  const path = hasCompiler ? nvmlDouble() : ''
  const library = hasCompiler ? tryOpenLibrary([path]).library : undefined
  const configureDouble = library?.bind('void horizon_nvml_double_configure(const char *spec)')
  const advance = library?.bind('void horizon_nvml_double_advance(int us)')
  const ms = new Float64Array(1)
  const clock = sharedStepClock(ms)
  const setUp = (spec = ''): { nvml: ReturnType<typeof openNvml>; device: bigint } => {
    configureDouble?.(spec)
    const nvml = openNvml({ libraryPath: path })
    initNvml(nvml)
    return { nvml, device: nvmlDeviceByIndex(nvml, 0) }
  }
  const wallUs = (offsetUs: number) => (): number => Date.now() * 1000 + offsetUs

  beforeEach(() => {
    ms[0] = 1000
  })

  test('a device is found by index, UUID and PCI id', () => {
    const { nvml, device } = setUp('devices=2')
    const uuid = readNvmlUuid(nvml, device)
    expect(uuid).toBe('GPU-00112233-4455-6677-8899-aabbccddeeff')
    expect(nvmlDeviceByUuid(nvml, uuid)).toBe(device)
    expect(nvmlDeviceByPciId(nvml, '00000000:01:00.0')).toBe(device)
    expect(nvmlDeviceByIndex(nvml, 1)).not.toBe(device)
    expect(readNvmlName(nvml, device)).toBe('double')
    expect(readDriverVersion(nvml)).toBe('590.48.01')
    expect(readNvmlMemory(nvml, device)).toEqual({
      totalBytes: 80 * 2 ** 30,
      freeBytes: 60 * 2 ** 30,
      usedBytes: 20 * 2 ** 30,
    })
    for (const find of [
      () => nvmlDeviceByIndex(nvml, 2),
      () => nvmlDeviceByUuid(nvml, 'GPU-nobody'),
      () => nvmlDeviceByPciId(nvml, 'nowhere'),
    ])
      expect(thrown(find)).toMatchObject({ code: 'ERR_GPU_DEVICE_INDEX' })
  })

  test.each([
    [9, 'ERR_GPU_NVML_UNAVAILABLE', 'kernel driver'],
    [18, 'ERR_GPU_NVML_UNAVAILABLE', 'different versions'],
    [15, 'ERR_GPU_LOST', 'reset'],
  ])('nvmlInit returning %i is %s', (result, code, hint) => {
    configureDouble?.(`init=${result}`)
    const error = thrown(() => initNvml(openNvml({ libraryPath: path })))
    expect(error).toMatchObject({ code, result })
    expect(error.message).toContain(hint)
  })

  test('utilisation: a value in [0, 1] with kind and source; new when it differs or a period has passed', () => {
    const { nvml, device } = setUp('memory=37')
    const probe = createNvmlUtilizationProbe(nvml, device, { clock })
    const source = createPressureSource(probe, { clock })
    const out = empty()
    expect(source.sample(out)).toBe(true)
    expect(out).toEqual({
      value: 0.37,
      kind: 'memory-activity',
      timestampMs: 1000,
      source: 'nvml-utilization',
    })
    ms[0] = 1100
    source.sample(out)
    expect(out.timestampMs).toBe(1000)
    ms[0] = 1167
    source.sample(out)
    expect(out.timestampMs).toBe(1167)
    configureDouble?.('memory=80')
    initNvml(nvml)
    ms[0] = 1170
    source.sample(out)
    expect(out).toMatchObject({ value: 0.8, timestampMs: 1170 })
    source.close()
    source.close()
    expect(source.sample(out)).toBe(false)
  })

  test('samples: the driver’s own timestamp gives the age, and each counts once', () => {
    const { nvml, device } = setUp('memory=55;periodus=100000')
    let offsetUs = 0
    const probe = createNvmlSamplesProbe(nvml, device, {
      clock,
      wallUs: () => wallUs(offsetUs)(),
      minIntervalMs: 20,
    })
    const source = createPressureSource(probe, { clock })
    const out = empty()
    expect(source.sample(out)).toBe(true)
    expect(out).toMatchObject({ value: 0.55, kind: 'memory-activity', source: 'nvml-samples' })
    const first = out.timestampMs
    expect(first).toBeLessThanOrEqual(1000)
    ms[0] = 1010
    source.sample(out)
    expect(out.timestampMs).toBe(first)
    advance?.(300_000)
    offsetUs = 300_000
    ms[0] = 1300
    source.sample(out)
    expect(out.timestampMs).toBeGreaterThan(first)
    source.close()
  })

  test('samples are read by the type the driver states', () => {
    const { nvml, device } = setUp('memory=61;valuetype=0')
    const source = createPressureSource(createNvmlSamplesProbe(nvml, device))
    const out = empty()
    expect(source.sample(out)).toBe(true)
    expect(out.value).toBe(0.61)
    source.close()
  })

  test('GPM: never two samples closer than the interval; a fraction of the bandwidth', () => {
    const { nvml, device } = setUp('dramtenths=425')
    expect(supportsGpm(nvml, device)).toBe(true)
    const probe = createGpmBandwidthProbe(nvml, device, { clock, intervalMs: 110 })
    const source = createPressureSource(probe, { clock })
    const out = empty()
    expect(source.sample(out)).toBe(false)
    advance?.(110_000)
    ms[0] = 1110
    expect(source.sample(out)).toBe(true)
    expect(out).toEqual({
      value: 0.425,
      kind: 'dram-bandwidth',
      timestampMs: 1110,
      source: 'gpm-dram-bandwidth',
    })
    ms[0] = 1150
    source.sample(out)
    expect(out.timestampMs).toBe(1110)
    source.close()
    expect(library?.bind('int horizon_nvml_double_live()')()).toBe(0)
    expect(thrown(() => createGpmBandwidthProbe(nvml, device, { intervalMs: 50 }))).toMatchObject({
      code: 'ERR_GPU_INVALID_VALUE',
    })
  })

  test('a GPU without GPM is refused at once, with what to use instead', () => {
    const { nvml, device } = setUp('gpm=0')
    expect(thrown(() => createGpmBandwidthProbe(nvml, device))).toMatchObject({
      code: 'ERR_GPU_METRIC_UNAVAILABLE',
      message: expect.stringContaining('nvml-samples'),
    })
  })

  test('a number outside 0 to 100 % is no reading', () => {
    const { nvml, device } = setUp('memory=250')
    const source = createPressureSource(createNvmlUtilizationProbe(nvml, device))
    expect(source.sample(empty())).toBe(false)
    source.close()
  })

  test.each([3, 15, 18])(
    'code %i ends a source: last value, then no pressure, said once',
    (code) => {
      const { nvml, device } = setUp('memory=37')
      const said: string[] = []
      const probe = createNvmlUtilizationProbe(nvml, device, { clock })
      const source = createPressureSource(probe, {
        clock,
        staleAfterMs: 500,
        onFailure: (message) => said.push(message),
      })
      const out = empty()
      source.sample(out)
      configureDouble?.(`memory=90;ratesrc=${code}`)
      initNvml(nvml)
      ms[0] = 1400
      expect(source.sample(out)).toBe(true)
      expect(out).toMatchObject({ value: 0.37, timestampMs: 1000 })
      ms[0] = 1501
      expect(source.sample(out)).toBe(false)
      configureDouble?.('memory=90')
      initNvml(nvml)
      expect(source.sample(out)).toBe(false)
      expect(said).toHaveLength(1)
      expect(said[0]).toContain(String(code))
      source.close()
    },
  )

  test.each([10, 21, 27])(
    'code %i passes: the last value stands in and the source recovers',
    (code) => {
      const { nvml, device } = setUp('memory=37')
      const said: string[] = []
      const probe = createNvmlUtilizationProbe(nvml, device, { clock })
      const source = createPressureSource(probe, {
        clock,
        onFailure: (message) => said.push(message),
      })
      const out = empty()
      source.sample(out)
      configureDouble?.(`ratesrc=${code}`)
      initNvml(nvml)
      for (let i = 0; i < 5; i++) expect(source.sample(out)).toBe(true)
      expect(said).toHaveLength(1)
      configureDouble?.('memory=90')
      initNvml(nvml)
      ms[0] = 1200
      source.sample(out)
      expect(out).toMatchObject({ value: 0.9, timestampMs: 1200 })
      source.close()
    },
  )

  test('one outage of a source that asks rarely is said once', () => {
    const { nvml, device } = setUp()
    const said: string[] = []
    ms[0] = 1000
    const probe = createGpmBandwidthProbe(nvml, device, { clock })
    const source = createPressureSource(probe, {
      clock,
      onFailure: (message) => said.push(message),
    })
    const out = empty()
    advance?.(200_000)
    ms[0] = 1200
    expect(source.sample(out)).toBe(true)
    expect(said).toEqual([])
    configureDouble?.('metricrc=21')
    initNvml(nvml)
    for (let now = 1200; now < 3000; now += 10) {
      ms[0] = now
      source.sample(out)
    }
    expect(said).toHaveLength(1)
    source.close()
  })
})

test('a source that never gets its first reading says so, when it has waited long enough', () => {
  const ms = new Float64Array([1000])
  const said: string[] = []
  const probe = {
    name: 'never',
    kind: 'memory-activity' as const,
    read: () => 27,
    describeResult: () => 'not ready',
    close() {},
  }
  const source = createPressureSource(probe, {
    clock: sharedStepClock(ms),
    staleAfterMs: 500,
    onFailure: (message) => said.push(message),
  })
  for (const [now, messages] of [
    [1000, 0],
    [1500, 0],
    [1501, 1],
    [9000, 1],
  ] as const) {
    ms[0] = now
    expect(source.sample(empty())).toBe(false)
    expect(said).toHaveLength(messages)
  }
})

test('no source, no pressure', () => {
  expect(createNoPressureSource().sample(empty())).toBe(false)
})

test('the default clock is CLOCK_MONOTONIC', () => {
  const before = Number(process.hrtime.bigint()) / 1e6
  const clock = createMonotonicClock()
  clock.read()
  const now = clock.ms[0]
  const after = Number(process.hrtime.bigint()) / 1e6
  expect(now).toBeGreaterThan(before - 0.5)
  expect(now).toBeLessThan(after + 0.5)
})
