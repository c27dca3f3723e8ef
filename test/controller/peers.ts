/**
 * @module
 * Stage processes of the Python package for the controller's tests, and what is asked of them.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { removeIfDead, segmentPath } from '../../src/adapters/discover.js'

export const hasPython: boolean =
  spawnSync('python3', ['--version']).status === 0 && process.platform === 'linux'

/** One stage process without a scheduler. */
export interface Peer {
  tell(text: string): void
  /** Tells, and reads the record that comes back. */
  ask(text: string): Promise<Record<string, unknown>>
  /** Kills it and leaves everything as it lies. */
  kill(): void
  /** Kills it, and removes what a killed process leaves behind. */
  end(): Promise<void>
}

/** Starts stage `stage` of the engine with this name; resolves when it holds the segment. */
export async function startPeer(name: string, stage = 0): Promise<Peer> {
  const child: ChildProcess = spawn('python3', ['test/controller/stage_peer.py', name], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, HORIZONSERVE_STAGE: String(stage) },
  })
  const lines = createInterface({ input: child.stdout! })
  const line = (): Promise<string> => new Promise((resolve) => lines.once('line', resolve))
  await line()
  return {
    tell: (text) => void child.stdin!.write(`${text}\n`),
    async ask(text) {
      const answer = line()
      child.stdin!.write(`${text}\n`)
      return JSON.parse(await answer)
    },
    kill: () => void child.kill('SIGKILL'),
    async end() {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve))
      removeIfDead(segmentPath(name))
    },
  }
}

/** Waits for a condition; the test's own time limit ends a wait in vain. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}
