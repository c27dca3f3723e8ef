/**
 * @module
 * One line that shows how far a command is, on a terminal; nothing in a pipe.
 */
import type { CliIo } from './command.js'

export interface ProgressBar {
  /** `share` in [0, 1]. */
  show(what: string, share: number): void
  clear(): void
}

export function createProgressBar(io: CliIo): ProgressBar {
  const width = Math.max(10, Math.min(40, io.columns - 50))
  let last = ''
  return {
    show(what, share) {
      if (!io.progress) return
      const done = Math.round(Math.min(1, Math.max(0, share)) * width)
      const line = `${'#'.repeat(done)}${'.'.repeat(width - done)} ${Math.round(share * 100)
        .toString()
        .padStart(3)} % ${what}`.slice(0, io.columns - 1)
      if (line === last) return
      last = line
      io.err(`\r\u001b[2K${line}`)
    },
    clear() {
      if (!io.progress || last === '') return
      last = ''
      io.err('\r\u001b[2K')
    },
  }
}
