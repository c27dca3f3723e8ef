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
  /** A request whose inputs are all sent and that is silent for so long has failed. @default 120_000 */
  readonly idleMs?: number
}

/** Most outputs of one request: beyond, a program is not answering but flooding. */
const MAX_OUTPUTS = 100_000

/** A request under way. */
interface OpenRequest {
  readonly queue: OutputQueue
  outputs: number
  /** Runs from the last input or output; a silent program must not hold up a loop for ever. */
  timer: NodeJS.Timeout | undefined
}

export function jsonLinesBackend(name: string, options: JsonLinesOptions): Backend {
  return { name, open: () => openSession(name, options) }
}

async function openSession(name: string, options: JsonLinesOptions): Promise<BackendSession> {
  const open = new Map<string, OpenRequest>()
  const idleMs = options.idleMs ?? 120_000
  const finish = (id: string, error?: Error): void => {
    const request = open.get(id)
    if (request === undefined) return
    clearTimeout(request.timer)
    open.delete(id)
    request.queue.end(error)
  }
  const watch = (id: string): void => {
    const request = open.get(id)
    if (request === undefined) return
    clearTimeout(request.timer)
    request.timer = setTimeout(
      () => finish(id, failed(name, `no output and no end for ${idleMs} ms`)),
      idleMs,
    )
  }
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
      const id = String(message?.id)
      const request = open.get(id)
      if (message === null || request === undefined) return
      if (message.error !== undefined) return finish(id, failed(name, String(message.error)))
      if (message.done === true) return finish(id)
      if (++request.outputs > MAX_OUTPUTS)
        return finish(id, failed(name, `more than ${MAX_OUTPUTS} outputs to one request`))
      request.queue.push(message.output)
      if (request.timer !== undefined) watch(id)
    },
    onEnd: (error) => {
      ended = error
      announceFailure(error)
      for (const id of [...open.keys()]) finish(id, error)
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
      open.set(id, { queue, outputs: 0, timer: undefined })
      void feed(program.send, id, inputs).then(
        () => watch(id),
        (error: Error) => finish(id, error),
      )
      return queue.values
    },
    close: async () => {
      await program.close()
      for (const id of [...open.keys()]) finish(id, failed(name, 'its session was closed'))
    },
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
