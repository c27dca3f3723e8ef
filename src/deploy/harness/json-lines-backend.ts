/**
 * @module
 * A backend that is a program speaking JSON lines. Once ready it writes `{"ready": true}`. A request is one or more
 * `{"id": "r1", "input": …}` lines and an `{"id": "r1", "end": true}`; it answers with `{"id": "r1", "output": …}` lines and
 * `{"id": "r1", "done": true}`, or `{"id": "r1", "error": "why"}`. Requests may overlap.
 */
import { HorizonError } from '../../core/errors.js'
import type { Backend, BackendSession } from './backend.js'
import { type LineProcessOptions, startLineProcess } from './line-process.js'
import { type OutputQueue, outputQueue } from './output-queue.js'

export interface JsonLinesOptions extends LineProcessOptions {
  /** How long the program may take until it is ready, for example to load models. @default 120_000 */
  readonly readyMs?: number
}

export function jsonLinesBackend(name: string, options: JsonLinesOptions): Backend {
  return { name, open: () => openSession(name, options) }
}

async function openSession(name: string, options: JsonLinesOptions): Promise<BackendSession> {
  const open = new Map<string, OutputQueue>()
  let ended: HorizonError | undefined
  let nextId = 1
  let announceReady: () => void = () => {}
  let announceFailure: (error: Error) => void = () => {}
  const ready = new Promise<void>((resolve, reject) => {
    announceReady = resolve
    announceFailure = reject
  })
  const program = startLineProcess(options, {
    onMessage: (raw) => {
      const message = raw as {
        ready?: unknown
        id?: unknown
        output?: unknown
        done?: unknown
        error?: unknown
      } | null
      if (message?.ready === true) return announceReady()
      const queue = open.get(String(message?.id))
      if (message === null || queue === undefined) return
      if (message.error !== undefined) queue.end(failed(name, String(message.error)))
      else if (message.done === true) queue.end()
      else queue.push(message.output)
      if (message.error !== undefined || message.done === true) open.delete(String(message.id))
    },
    onEnd: (error) => {
      ended = error
      announceFailure(error)
      for (const queue of open.values()) queue.end(error)
      open.clear()
    },
  })
  const timer = setTimeout(
    () => announceFailure(failed(name, 'it did not say {"ready": true} in time')),
    options.readyMs ?? 120_000,
  )
  try {
    await ready
  } catch (error) {
    await program.close(0)
    throw error
  } finally {
    clearTimeout(timer)
  }
  return {
    request: (inputs) => {
      if (ended !== undefined) throw ended
      const id = `r${nextId++}`
      const queue = outputQueue()
      open.set(id, queue)
      void feed(program.send, id, inputs).catch((error: Error) => queue.end(error))
      return queue.values
    },
    close: () => program.close(),
  }
}

async function feed(
  send: (message: unknown) => void,
  id: string,
  inputs: AsyncIterable<unknown>,
): Promise<void> {
  for await (const input of inputs) send({ id, input })
  send({ id, end: true })
}

function failed(name: string, why: string): HorizonError {
  return new HorizonError('ERR_DEPLOY_BACKEND_FAILED', `the backend failed: ${why}`, {
    field: name,
  })
}
