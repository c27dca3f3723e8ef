/**
 * @module
 * Question: how long does an engine wait for a lockstep decision, beside a Unix-socket round trip between the same two processes?
 * Unit: ns, seen by the engine (Python). Bias: the waiting queue is empty, so that the hand-over is measured and not the policy; both
 * processes share the machine with whatever else runs. Once as they come, the engine looking for its answer before it sleeps; once
 * `asleep`: an engine that sleeps at once.
 */
import { spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { segmentPath } from '../src/adapters/discover.js'
import { createController } from '../src/controller/controller.js'
import type { Bench } from './bench.js'

const PEER = 'bench/lockstep_peer.py'

export const bench: Bench = {
  name: 'lockstep-round-trip',
  question: 'How long does an engine wait for a lockstep decision?',
  async run({ quick, log }) {
    spawnSync(process.execPath, ['--import', 'tsx', 'test/engine/bundle.ts', 'out/engine'], {
      stdio: 'inherit',
    })
    const name = `bench-${process.pid}`
    const socket = join(tmpdir(), `${name}.sock`)
    const server = createServer((peer) => peer.on('data', (data) => peer.write(data)))
    await new Promise<void>((resolve) => server.listen(socket, resolve))
    const controller = createController({
      path: segmentPath(name),
      mode: 'lockstep',
      workerFolder: pathToFileURL('out/engine/'),
      log: () => {},
      config: {
        classes: { text: { output: 'text', sloMs: 200 } },
        profile: { text: { shared: { fixedMs: 5 } } },
      },
    })
    const look = setInterval(() => controller.watch(), 50)
    try {
      const counts = [String(quick ? 500 : 5000), String(quick ? 50 : 300)]
      const rows = await peer([PEER, name, socket, ...counts])
      if (rows === undefined) return { lockstep: 'not measured: python3 is not here' }
      const asleep = await peer([PEER, name, socket, ...counts, '0'])
      return { ...JSON.parse(rows), lockstepAsleep: JSON.parse(asleep ?? 'null') }
    } catch (error) {
      log(String(error))
      return { lockstep: 'not measured' }
    } finally {
      clearInterval(look)
      await controller.stop()
      server.close()
      rmSync(socket, { force: true })
    }
  },
}

function peer(args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    child.stdout.on('data', (data) => {
      out += data
    })
    child.stderr.on('data', (data) => {
      err += data
    })
    child.on('error', () => resolve(undefined))
    child.on('close', (code) => (code === 0 ? resolve(out) : reject(new Error(err))))
  })
}
