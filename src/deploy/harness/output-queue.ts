/**
 * @module
 * Outputs that are pushed on one side and iterated on the other.
 */

export interface OutputQueue {
  push(value: unknown): void
  /** No more outputs; with an error, the iteration throws it after what is still queued. */
  end(error?: Error): void
  readonly values: AsyncIterable<unknown>
}

/** One consumer only. */
export function outputQueue(): OutputQueue {
  const queued: unknown[] = []
  let finished = false
  let failure: Error | undefined
  let wake: () => void = () => {}
  return {
    push: (value) => {
      queued.push(value)
      wake()
    },
    end: (error) => {
      finished = true
      failure ??= error
      wake()
    },
    values: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          while (queued.length > 0) yield queued.shift()
          if (finished) {
            if (failure !== undefined) throw failure
            return
          }
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      },
    },
  }
}
