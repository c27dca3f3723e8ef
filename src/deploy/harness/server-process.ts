/**
 * @module
 * A server of somebody else's as a child process: started, waited for, ended. Its output is its own; the end of it is kept
 * for the error when it does not come up.
 */
import { spawn } from 'node:child_process'
import { HorizonError } from '../../core/errors.js'

export interface ServerOptions {
  readonly command: readonly [string, ...string[]]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** How long until it must answer. @default 120_000 */
  readonly readyMs?: number
}

/** Milliseconds between two questions whether it is up. */
const POLL_MS = 200

/** Starts it and returns what ends it, once `probeUrl` answers with any success. */
export async function startServer(
  name: string,
  probeUrl: string,
  options: ServerOptions,
): Promise<() => Promise<void>> {
  const [program, ...args] = options.command
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  let tail = ''
  let ended: string | undefined
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-2000)
    })
  }
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = error.message
      resolve()
    })
    child.once('exit', (status, signal) => {
      ended ??= `it ended with ${signal ?? `status ${status}`}`
      resolve()
    })
  })
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(timer)
  }
  const deadline = performance.now() + (options.readyMs ?? 120_000)
  while (!(await answers(probeUrl))) {
    if (ended === undefined && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      continue
    }
    const why = ended ?? `no answer from ${probeUrl} in time`
    await close()
    throw new HorizonError('ERR_DEPLOY_BACKEND_EXIT', `the server did not come up: ${why}`, {
      field: name,
      ...(tail !== '' && { hint: `It last said: ${tail.trim().slice(-400)}` }),
    })
  }
  return close
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}
