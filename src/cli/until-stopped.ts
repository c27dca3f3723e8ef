/**
 * @module
 * Waits for the end of a command that serves: a signal, or the time given.
 */

/** A signal that fires at SIGINT or SIGTERM; `off` gives both back. */
export function onStop(): { readonly signal: AbortSignal; off(): void } {
  const controller = new AbortController()
  const end = (): void => controller.abort()
  process.on('SIGINT', end)
  process.on('SIGTERM', end)
  return {
    signal: controller.signal,
    off() {
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
    },
  }
}

/** Resolves at SIGINT, SIGTERM, or after `seconds`. */
export function untilStopped(seconds?: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = onStop()
    let timer: NodeJS.Timeout | undefined
    const end = (): void => {
      clearTimeout(timer)
      stop.off()
      resolve()
    }
    stop.signal.addEventListener('abort', end, { once: true })
    if (seconds !== undefined) timer = setTimeout(end, seconds * 1000)
  })
}
