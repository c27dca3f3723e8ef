/**
 * @module
 * Implementations that are a program in any language. It reads `{"id": 1, "call": {path, batch, input, inputs, state}}`, one
 * per line, and answers `{"id": 1, "result": {output, state?, last?}}` or `{"id": 1, "error": "why"}`.
 */
import type { HorizonError } from '../../core/errors.js'
import { type LineProcessOptions, startLineProcess } from '../harness/line-process.js'
import type { Implementations, NodeResult } from './implementation.js'

export interface NodeProgramOptions extends LineProcessOptions {
  /** A call without an answer for so long has failed. @default 120_000 */
  readonly idleMs?: number
}

interface Waiting {
  readonly resolve: (result: NodeResult) => void
  readonly reject: (error: Error) => void
}

/** Starts the program; it serves every node until `close`. */
export function nodeProgram(options: NodeProgramOptions): Implementations {
  const waiting = new Map<number, Waiting>()
  let ended: HorizonError | undefined
  let nextId = 1
  const program = startLineProcess(options, {
    onMessage: (message) => {
      if (typeof message !== 'object' || message === null) return
      const { id, result, error } = message as { id?: unknown; result?: unknown; error?: unknown }
      const entry = typeof id === 'number' ? waiting.get(id) : undefined
      // An answer nobody waits for is noise; the call it was meant for fails when the program ends.
      if (entry === undefined) return
      waiting.delete(id as number)
      if (error === undefined) return entry.resolve(result as NodeResult)
      entry.reject(new Error(String(error)))
    },
    onEnd: (error) => {
      ended = error
      for (const entry of waiting.values()) entry.reject(error)
      waiting.clear()
    },
  })
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended)
        const id = nextId++
        const idleMs = options.idleMs ?? 120_000
        const timer = setTimeout(() => {
          waiting.delete(id)
          reject(new Error(`no answer from the node program for ${idleMs} ms`))
        }, idleMs)
        waiting.set(id, {
          resolve: (result) => {
            clearTimeout(timer)
            resolve(result)
          },
          reject: (error) => {
            clearTimeout(timer)
            reject(error)
          },
        })
        program.send({ id, call })
      }),
    close: () => program.close(),
  }
}
