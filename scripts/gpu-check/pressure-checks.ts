/**
 * @module
 * Checks of the pressure sources: cost of a sample, how often the number is renewed, and how old it is.
 */
import { createGpmBandwidthProbe } from '../../src/gpu/gpm-bandwidth.js'
import { initNvml, type NvmlLibrary, nvmlDeviceByUuid, openNvml } from '../../src/gpu/nvml.js'
import { createNvmlSamplesProbe } from '../../src/gpu/nvml-samples.js'
import { createNvmlUtilizationProbe } from '../../src/gpu/nvml-utilization.js'
import { createPressureSource, type PressureProbe } from '../../src/gpu/pressure-source.js'
import { createMonotonicClock } from '../../src/gpu/step-clock.js'
import { type Check, type CheckContext, spread, timeCalls } from './check.js'

type Opener = (nvml: NvmlLibrary, device: bigint) => PressureProbe

function pressureCheck(name: string, open: Opener): Check {
  return {
    name,
    run(context) {
      let probe: PressureProbe
      try {
        const nvml = openNvml()
        initNvml(nvml)
        probe = open(nvml, nvmlDeviceByUuid(nvml, context.device.uuid))
      } catch (error) {
        return { failed: [], skipped: (error as Error).message, values: {} }
      }
      return measure(context, probe)
    },
  }
}

/** Keeps the memory stage running while it samples, so that there is something to see. */
function measure(
  { cuda, ladder, stages, quick }: CheckContext,
  probe: PressureProbe,
): ReturnType<Check['run']> {
  const failed: string[] = []
  const source = createPressureSource(probe, { onFailure: (message) => failed.push(message) })
  const clock = createMonotonicClock()
  const out = { value: 0, kind: '', timestampMs: 0, source: '' }
  const stream = ladder.stream(ladder.offIndex, 'shared')
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
  const ages: number[] = []
  const gaps: number[] = []
  const values: number[] = []
  const costs: number[] = []
  let last = Number.NaN
  clock.read()
  const endMs = (clock.ms[0] as number) + (quick ? 400 : 4000)
  while ((clock.ms[0] as number) < endMs) {
    for (let i = 0; i < 3; i++) stages.memory.enqueue(stream)
    cuda.call('cuStreamSynchronize', stream)
    let isThere = false
    costs.push(
      ...timeCalls(1, () => {
        isThere = source.sample(out)
      }),
    )
    clock.read()
    if (!isThere) continue
    ages.push((clock.ms[0] as number) - out.timestampMs)
    if (out.timestampMs === last) continue
    if (!Number.isNaN(last)) gaps.push(out.timestampMs - last)
    last = out.timestampMs
    values.push(out.value)
    if (!(out.value >= 0 && out.value <= 1)) failed.push(`a value of ${out.value}`)
  }
  if (values.length === 0) failed.push('no sample at all')
  const burst = spread(timeCalls(quick ? 500 : 5000, () => source.sample(out)))
  source.close()
  return {
    failed,
    values: {
      kind: probe.kind,
      sampleNs: burst,
      sampleBetweenStepsNs: spread(costs),
      renewedEveryMs: spread(gaps),
      ageMs: spread(ages),
      underLoad: spread(values),
    },
  }
}

/** The three sources. */
export const pressureChecks: readonly Check[] = [
  pressureCheck('nvml-utilization', createNvmlUtilizationProbe),
  pressureCheck('nvml-samples', (nvml, device) => createNvmlSamplesProbe(nvml, device)),
  pressureCheck('gpm-dram-bandwidth', (nvml, device) => createGpmBandwidthProbe(nvml, device)),
]
