import { existsSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { segmentPath } from '../../src/adapters/discover.js'
import { type Controller, createController } from '../../src/controller/controller.js'
import { monotonicNs } from '../../src/controller/monotonic-clock.js'
import { metricsText } from '../../src/controller/prometheus.js'
import { hasPython, type Peer, startPeer, until } from './peers.js'
import { someConfig } from './some-config.js'

let engine: Peer | undefined
let controller: Controller | undefined

afterEach(async () => {
  await controller?.stop()
  await engine?.end()
  engine = undefined
})

describe.skipIf(!hasPython)('a controller', () => {
  it('follows an engine, tells it the state, and notices its death', async () => {
    const name = `test-${process.pid}-a`
    const said: string[] = []
    controller = createController({
      path: segmentPath(name),
      config: someConfig(),
      log: (_, text) => said.push(text),
    })
    expect(controller.attach()).toBe(false)
    engine = await startPeer(name)
    const steered = controller
    await until(() => steered.attach())
    engine.tell('arrive 1 0 40\nadmit 1\nfirst 1\nstep 1')
    await until(() => steered.report()?.classes[0]?.responded === 1)
    const report = steered.report()
    expect(report?.classes[0]).toMatchObject({ name: 'text', responded: 1, inShared: 1 })
    expect(report?.steps).toBe(1)
    const page = metricsText(report, monotonicNs())
    expect(page).toContain('horizonserve_engine_attached 1')
    expect(page).toContain('horizonserve_first_responses_total{class="text"} 1')
    expect(await engine.ask('state')).toMatchObject({ mode: 1, m: 2, longCap: 2, classes: 2 })

    engine.kill()
    await until(() => {
      steered.watch()
      return said.some((text) => text.includes('died')) && !existsSync(segmentPath(name))
    })
    expect(steered.report()).toBeUndefined()
    expect(metricsText(undefined, 0n)).toContain('horizonserve_engine_attached 0')
  })

  it('takes up another configuration, and keeps the old one when the new one is bad', async () => {
    const name = `test-${process.pid}-b`
    engine = await startPeer(name)
    controller = createController({ path: segmentPath(name), config: someConfig(), log: () => {} })
    const steered = controller
    await until(() => steered.attach())
    await steered.reload(someConfig({ longPathCap: 7 }))
    expect(await engine.ask('state')).toMatchObject({ longCap: 7 })
    await expect(steered.reload(someConfig({ uGuard: -1 }))).rejects.toThrow(/uGuard/)
    expect(await engine.ask('state')).toMatchObject({ mode: 1, longCap: 7 })
    await steered.stop()
    expect(await engine.ask('state')).toMatchObject({ mode: 0 })
  })

  it('refuses to publish what the table cannot express', () => {
    const options = {
      path: segmentPath('none'),
      config: someConfig({ order: 'priority' }),
      log: () => {},
    }
    expect(() => createController({ ...options, mode: 'published' })).toThrow(
      expect.objectContaining({ code: 'ERR_CONTROLLER_MODE' }),
    )
    expect(createController(options).mode).toBe('lockstep')
  })
})
