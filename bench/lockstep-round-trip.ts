/**
 * @module
 * Question: how long does an engine wait for a lockstep decision, beside a Unix-socket round trip between the same two processes?
 * Unit: ns, seen by the engine (Python). Bias: the waiting queue is empty, so that the hand-over is measured and not the policy; both
 * processes share the machine with whatever else runs. Once as the kernel places them, the engine asleep while it waits; once `apart`:
 * engine and controller kept to processors of their own by `taskset`, and the engine looking for 300 µs before it sleeps.
 */
import { spawn, spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { segmentPath } from '../src/adapters/discover.js'
import { createController } from '../src/controller/controller.js'
import type { Bench } from './bench.js'

const PEER = 'bench/lockstep_peer.py'
const LOOK_US = 300

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
      const together = await peer('python3', [PEER, name, socket, ...counts, '0'])
      if (together === undefined) return { lockstep: 'not measured: python3 is not here' }
      const rows = JSON.parse(together)
      if (!keepTo(1))
        return { ...rows, lockstepApart: 'not measured: needs taskset and two processors' }
      try {
        const args = ['-c', '0', 'python3', PEER, name, socket, ...counts, String(LOOK_US)]
        return { ...rows, lockstepApart: JSON.parse((await peer('taskset', args)) ?? 'null') }
      } finally {
        keepTo()
      }
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

/** Keeps all threads of this process to one processor, or to none in particular; false where that cannot be. */
function keepTo(processor?: number): boolean {
  const last = cpus().length - 1
  if (last < 1) return false
  const list = processor === undefined ? `0-${last}` : String(processor)
  return spawnSync('taskset', ['-a', '-p', '-c', list, String(process.pid)]).status === 0
}

function peer(command: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
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
