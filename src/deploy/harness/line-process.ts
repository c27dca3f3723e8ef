/**
 * @module
 * A child program that speaks JSON lines on its standard streams. Its output is untrusted: lines are bounded, what is no
 * JSON is an error with the line's beginning, and an early exit carries the end of its standard error.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { HorizonError } from '../../core/errors.js'

export interface LineProcessOptions {
  /** Program and arguments; no shell in between. */
  readonly command: readonly [string, ...string[]]
  readonly cwd?: string
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Longest line accepted, in UTF-16 code units. @default 16 MiB */
  readonly maxLineLength?: number
}

export interface LineProcess {
  /** Writes one message. Throws when the program is gone. */
  send(message: unknown): void
  /** Asks it to end by closing its input, then kills it after `graceMs`. Idempotent. */
  close(graceMs?: number): Promise<void>
}

export interface LineHandlers {
  readonly onMessage: (message: unknown) => void
  /** Called once, on exit, on a spawn failure or on a broken line. */
  readonly onEnd: (error: HorizonError) => void
}

/** Starts the program. `onEnd` is not called for an exit that `close` asked for. */
export function startLineProcess(options: LineProcessOptions, handlers: LineHandlers): LineProcess {
  const [program, ...args] = options.command
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  let ended = false
  let closing = false
  let errorTail = ''
  const end = (code: 'EXIT' | 'LINE', text: string, got?: unknown): void => {
    if (ended) return
    ended = true
    child.kill('SIGKILL')
    if (closing) return
    handlers.onEnd(
      new HorizonError(`ERR_DEPLOY_BACKEND_${code}`, text, {
        field: options.command.join(' '),
        ...(got !== undefined && { got }),
        ...(errorTail !== '' && { hint: `It last said: ${errorTail.trim().slice(-400)}` }),
      }),
    )
  }
  const exited = new Promise<void>((resolve) => {
    child.once('close', (status, signal) => {
      end('EXIT', `the program ended with ${signal ?? `status ${status}`}`)
      resolve()
    })
    child.once('error', (error) => {
      end('EXIT', `the program could not be started: ${error.message}`)
      resolve()
    })
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errorTail = (errorTail + text).slice(-2000)
  })
  // A program that ends while we write is reported by its exit, not by the pipe.
  child.stdin?.on('error', () => {})
  readLines(child, options.maxLineLength ?? 16 * 2 ** 20, (line) => {
    if (ended) return
    if (line === undefined) return end('LINE', 'the program wrote a line longer than allowed')
    if (line.trim() === '') return
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      return end(
        'LINE',
        'the program wrote a line that is no JSON (logs belong on standard error)',
        line,
      )
    }
    handlers.onMessage(message)
  })
  return {
    send: (message) => {
      if (ended || closing)
        throw new HorizonError('ERR_DEPLOY_BACKEND_EXIT', 'the program has ended', {
          field: options.command.join(' '),
        })
      child.stdin?.write(`${JSON.stringify(message)}\n`)
    },
    close: async (graceMs = 2000) => {
      closing = true
      if (!ended) child.stdin?.end()
      const timer = setTimeout(() => {
        child.kill('SIGKILL')
        // A grandchild may hold the pipes open for ever; nobody reads them any more.
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, graceMs)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Calls back per line, or with undefined when one is too long. */
function readLines(
  child: ChildProcess,
  maxLength: number,
  onLine: (line: string | undefined) => void,
): void {
  let rest = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop()!
    for (const part of parts) onLine(part.length > maxLength ? undefined : part)
    if (rest.length > maxLength) onLine(undefined)
  })
}
