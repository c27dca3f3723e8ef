import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { removeIfDead, segmentPath } from '../../src/adapters/discover.js'
import { type Controller, createController } from '../../src/controller/controller.js'
import { monotonicNs } from '../../src/controller/monotonic-clock.js'
import { metricsText } from '../../src/controller/prometheus.js'
import { someConfig } from './some-config.js'

const hasPython = spawnSync('python3', ['--version']).status === 0 && process.platform === 'linux'
let engine: ChildProcess | undefined
let controller: Controller | undefined

afterEach(async () => {
  await controller?.stop()
  if (engine !== undefined) await endEngine(engine)
  engine = undefined
})

/** Kills the stage process, and removes what a killed process leaves behind. */
async function endEngine(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once('exit', resolve))
  removeIfDead(segmentPath(child.spawnargs.at(-1)!))
}

/** A stage process of the Python package, without a scheduler: posts what it is told to over its standard input. */
function startEngine(name: string): ChildProcess {
  const child = spawn('python3', ['test/controller/stage_peer.py', name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  engine = child
  return child
}

function line(child: ChildProcess): Promise<string> {
  return new Promise((resolve) =>
    child.stdout!.once('data', (data) => resolve(String(data).trim())),
  )
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

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
    const child = startEngine(name)
    expect(await line(child)).toBe('ready')
    const steered = controller
    await until(() => steered.attach())
    child.stdin!.write('arrive 1 0 40\nadmit 1\nfirst 1\nstep 1\n')
    await until(() => steered.report()?.classes[0]?.responded === 1)
    const report = steered.report()
    expect(report?.classes[0]).toMatchObject({ name: 'text', responded: 1, inShared: 1 })
    expect(report?.steps).toBe(1)
    const page = metricsText(report, monotonicNs())
    expect(page).toContain('horizonserve_engine_attached 1')
    expect(page).toContain('horizonserve_first_responses_total{class="text"} 1')
    child.stdin!.write('state\n')
    expect(JSON.parse(await line(child))).toMatchObject({ mode: 1, m: 2, longCap: 2, classes: 2 })

    child.kill('SIGKILL')
    await until(() => {
      steered.watch()
      return said.some((text) => text.includes('died')) && !existsSync(segmentPath(name))
    })
    expect(steered.report()).toBeUndefined()
    expect(metricsText(undefined, 0n)).toContain('horizonserve_engine_attached 0')
  })

  it('takes up another configuration, and keeps the old one when the new one is bad', async () => {
    const name = `test-${process.pid}-b`
    const child = startEngine(name)
    expect(await line(child)).toBe('ready')
    controller = createController({ path: segmentPath(name), config: someConfig(), log: () => {} })
    const steered = controller
    await until(() => steered.attach())
    await steered.reload(someConfig({ longPathCap: 7 }))
    child.stdin!.write('state\n')
    expect(JSON.parse(await line(child))).toMatchObject({ longCap: 7 })
    await expect(steered.reload(someConfig({ uGuard: -1 }))).rejects.toThrow(/uGuard/)
    child.stdin!.write('state\n')
    expect(JSON.parse(await line(child))).toMatchObject({ mode: 1, longCap: 7 })
    await steered.stop()
    child.stdin!.write('state\n')
    expect(JSON.parse(await line(child))).toMatchObject({ mode: 0 })
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
