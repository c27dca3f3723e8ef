/**
 * @module
 * Servers and controllers as a user starts them: by a command, in a session of their own, with their log in a file. Whatever is left of
 * them is found by its session: a process that renames itself overwrites its environment as the kernel shows it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/** One started command. */
export interface Started {
  readonly pid: number
  /** All that it has written so far. */
  log(): string
  hasEnded(): boolean
  /** Resolves when it has ended, whoever ended it. */
  readonly ended: Promise<void>
  signal(name: NodeJS.Signals): void
}

const started: { readonly child: ChildProcess; readonly segment: string }[] = []

/** Starts a command. Every process of it carries the segment's name. */
export function start(
  command: readonly string[],
  segment: string,
  logFile: string,
  env: Readonly<Record<string, string>> = {},
): Started {
  const out = openSync(logFile, 'w')
  const child = spawn(command[0]!, command.slice(1), {
    stdio: ['ignore', out, out],
    env: { ...process.env, ...env, HORIZONSERVE_SEGMENT: segment },
    detached: true,
  })
  closeSync(out)
  started.push({ child, segment })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  return {
    pid: child.pid ?? 0,
    log: () => readFileSync(logFile, 'utf8'),
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    ended,
    signal: (name) => void child.kill(name),
  }
}

/** Processes of everything that was started for a segment, with what they call themselves. */
export function processesOf(segment: string): { pid: number; title: string }[] {
  const sessions = new Set(
    started.filter((each) => each.segment === segment).map((each) => each.child.pid),
  )
  const found: { pid: number; title: string }[] = []
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    try {
      // Behind the name in brackets: state, parent, group, session.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const session = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3])
      if (!sessions.has(session)) continue
      const title = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      // A process that ended and waits for its parent has no command line any more.
      if (title !== '') found.push({ pid, title })
    } catch {
      // It ended while we looked.
    }
  }
  return found
}

/** Ends what is left of everything that was started here. */
export function endAll(): void {
  for (const { segment } of started)
    for (const { pid } of processesOf(segment)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It was faster.
      }
    }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Asks until the answer is true; false when the time is over. */
export async function until(
  ask: () => boolean | Promise<boolean>,
  seconds: number,
  everyMs = 100,
): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    if (await ask()) return true
    if (performance.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
