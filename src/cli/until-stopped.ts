/**
 * @module
 * Waits for the end of a command that serves: a signal, or the time given.
 */

/** Resolves at SIGINT, SIGTERM, or after `seconds`. */
export function untilStopped(seconds?: number): Promise<void> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const end = (): void => {
      clearTimeout(timer)
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
      resolve()
    }
    process.on('SIGINT', end)
    process.on('SIGTERM', end)
    if (seconds !== undefined) timer = setTimeout(end, seconds * 1000)
  })
}
