/**
 * @module
 * Pressure from NVML to the level that an engine applies: on the double of NVML, through the sampler's own thread, over the wire.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { segmentPath } from '../../src/adapters/discover.js'
import { draw } from '../../src/cli/commands/watch.js'
import type { HorizonConfig } from '../../src/config.js'
import { type Controller, createController } from '../../src/controller/controller.js'
import { monotonicNs } from '../../src/controller/monotonic-clock.js'
import { pressureSettings } from '../../src/controller/pressure-sampler.js'
import { metricsText } from '../../src/controller/prometheus.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { hasCompiler, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { hasPython, type Peer, startPeer, until } from './peers.js'
import { someConfig } from './some-config.js'

const ladder = { totalSms: 132, levels: [16, 40, 64, 104], aggressiveSms: 132 }
const LOWEST = 0

const peers: Peer[] = []
let controller: Controller | undefined
afterEach(async () => {
  await controller?.stop()
  for (const peer of peers.splice(0)) await peer.end()
})

describeDouble('pressure in a controller', () => {
  const path = hasCompiler ? nvmlDouble() : ''
  const library = hasCompiler ? tryOpenLibrary([path]).library : undefined
  const configure = library?.bind('void horizon_nvml_double_configure(const char *spec)')
  /** The double as it is from now on. */
  const play = (spec: string): void => configure?.(`started=1;periodus=20000;${spec}`)

  /** A controller of an engine of two stages, the second busy, on the double in a stated state. */
  const steer = async (name: string, spec: string, more: Partial<HorizonConfig>) => {
    process.env.HORIZON_LIBNVML = path
    play(spec)
    const shared = await startPeer(name)
    const later = await startPeer(name, 1)
    peers.push(shared, later)
    later.tell('busy 1')
    const said: string[] = []
    const made = createController({
      path: segmentPath(name),
      config: someConfig({ ladder, ...more }),
      log: (_, text) => said.push(text),
    })
    controller = made
    await until(() => made.attach())
    let k = 0
    const steps = async (condition: (state: Record<string, unknown>) => boolean) => {
      await until(async () => {
        shared.tell(`step ${++k}`)
        return condition(await shared.ask('state'))
      })
      return await shared.ask('state')
    }
    return { made, said, shared, steps }
  }

  it.skipIf(!hasPython)(
    'chooses the level by the smoothed reading, and by activity alone when the GPU is lost',
    async () => {
      const { made, said, steps } = await steer(`test-${process.pid}-p`, 'memory=45', {
        pressure: { source: 'nvml-samples', everyMs: 20 },
      })
      // Half of the saturation of 0.9: half way from 16 to 104 SMs, and 64 is the nearest row.
      const half = await steps((state) => state.pressure === 0.45 && state.level === 2)
      expect(half).toMatchObject({ pressureRaw: 0.45, levelSms: 64 })
      expect(said.filter((text) => text.includes('memory pressure'))).toEqual([
        'memory pressure by nvml-samples (memory-activity) of double, every 20 ms',
      ])

      play('memory=90')
      const rising = await steps((state) => state.pressureRaw === 0.9)
      expect(rising.pressure).toBeGreaterThan(0.45)
      expect(await steps((state) => state.level === 3)).toMatchObject({ levelSms: 104 })
      const report = made.report()
      expect(metricsText(report, monotonicNs())).toContain(
        '# TYPE horizonserve_pressure_raw gauge\nhorizonserve_pressure_raw{source="nvml-samples",kind="memory-activity"} 0.9\n',
      )
      expect(draw(report, undefined, 500)).toContain('memory-activity by nvml-samples')

      play('samplesrc=15')
      expect(await steps((state) => state.pressure === null)).toMatchObject({ pressureRaw: null })
      expect(await steps((state) => state.level === LOWEST)).toMatchObject({ levelSms: 16 })
      expect(said.filter((text) => text.includes('failed (15'))).toHaveLength(1)
      expect(draw(made.report(), undefined, 500)).toContain('pressure unknown')
      expect(metricsText(made.report(), monotonicNs())).not.toContain('pressure_raw{')
    },
    60_000,
  )

  it.skipIf(!hasPython)('reaches the worker that decides in lockstep', async () => {
    const { made, shared, said } = await steer(`test-${process.pid}-q`, 'dramtenths=450', {
      order: 'priority',
      pressure: {
        source: 'gpm-dram-bandwidth',
        device: 'GPU-00112233-4455-6677-8899-aabbccddeeff',
      },
    })
    expect(made.mode).toBe('lockstep')
    let k = 0
    await until(async () => (await shared.ask(`ask ${++k}`)).level === 2)
    expect(said.join()).toContain('gpm-dram-bandwidth (dram-bandwidth)')
  })

  it.skipIf(!hasPython).each([
    ['no such GPU', { device: 7 }, ''],
    ['needs Hopper', { source: 'gpm-dram-bandwidth' as const }, 'gpm=0'],
    ['kernel driver', { source: 'auto' as const }, 'init=9'],
  ])('says in one line why there is none (%s), and steers without', async (why, pressure, spec) => {
    const name = `test-${process.pid}-${spec.length}${why.length}`
    process.env.HORIZON_LIBNVML = path
    const { said, steps } = await steer(name, spec, { pressure })
    await steps((state) => state.level === LOWEST && said.some((text) => text.includes(why)))
    const lines = said.filter((text) => text.includes('pressure'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^no memory pressure \(.*\): .*lowest level of the ladder$/)
  })

  it.skipIf(!hasPython)('falls back to the rates where the driver keeps no samples', async () => {
    const { said, steps } = await steer(`test-${process.pid}-f`, 'samplesrc=3;memory=45', {
      pressure: { everyMs: 20 },
    })
    await steps((state) => state.level === 2)
    expect(said.join()).toContain('memory pressure by nvml-utilization')
  })

  it.skipIf(!hasPython)('follows a reload to another source, and to none', async () => {
    const name = `test-${process.pid}-r`
    const { made, said, steps } = await steer(name, 'memory=45;dramtenths=900', {
      pressure: { source: 'nvml-utilization', everyMs: 20 },
    })
    await steps((state) => state.level === 2)
    await made.reload(
      someConfig({ ladder, pressure: { source: 'gpm-dram-bandwidth', everyMs: 20 } }),
    )
    await steps((state) => state.level === 3)
    await made.reload(someConfig({ ladder, pressure: false }))
    await steps((state) => state.level === LOWEST && state.pressure === null)
    expect(said.filter((text) => text.startsWith('memory pressure by'))).toHaveLength(2)
  })
})

it.skipIf(!hasPython)('an NVML that is not there costs one line and nothing else', async () => {
  const before = process.env.HORIZON_LIBNVML
  process.env.HORIZON_LIBNVML = '/nowhere/libnvidia-ml.so.1'
  const name = `test-${process.pid}-n`
  const shared = await startPeer(name)
  peers.push(shared)
  const said: string[] = []
  const made = createController({
    path: segmentPath(name),
    config: someConfig({ ladder }),
    log: (_, text) => said.push(text),
  })
  controller = made
  await until(() => made.attach())
  await until(() => said.some((text) => text.includes('NVML')))
  expect(said.filter((text) => text.includes('pressure'))).toHaveLength(1)
  if (before === undefined) delete process.env.HORIZON_LIBNVML
  else process.env.HORIZON_LIBNVML = before
})

describe('whether pressure is sampled', () => {
  it('follows the option, then the configuration, then whether there is a ladder', () => {
    const auto = { source: 'auto', device: 0, everyMs: 100 }
    expect(pressureSettings(someConfig(), undefined)).toBeUndefined()
    expect(pressureSettings(someConfig({ ladder }), undefined)).toEqual(auto)
    expect(pressureSettings(someConfig({ pressure: {} }), undefined)).toEqual(auto)
    expect(pressureSettings(someConfig({ ladder, pressure: false }), undefined)).toBeUndefined()
    expect(pressureSettings(someConfig({ ladder }), 'none')).toBeUndefined()
    expect(
      pressureSettings(someConfig({ ladder, pressure: { device: 2 } }), 'nvml-samples'),
    ).toEqual({ source: 'nvml-samples', device: 2, everyMs: 100 })
  })
})
