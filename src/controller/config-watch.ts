/**
 * @module
 * When a configuration file has changed. Looks at what stands under the name, not at one inode: editors and `sed -i` put another file in
 * its place, a ConfigMap changes the link that leads to it, and a file may be gone for a while.
 */
import { statSync } from 'node:fs'

export interface ConfigWatchOptions {
  /** How often to look, ms. @default 100 */
  readonly everyMs?: number
  /** Called when the file has changed and then stood still for one look, or kept changing for a second. Calls never overlap. */
  readonly onChange: () => Promise<void>
  /** Called once when the file is gone. Its return is a change. */
  readonly onMissing: () => void
}

export interface ConfigWatch {
  /** Takes the file as changed, whatever it looks like. */
  now(): void
  close(): void
}

/** A file that never stands still is read after this time all the same. */
const LONGEST_WAIT_MS = 1000

/** Starts watching. What stands there now is taken as known. */
export function watchConfig(file: string, options: ConfigWatchOptions): ConfigWatch {
  const everyMs = options.everyMs ?? 100
  let known = signature(file)
  let last = known
  let changedAt = 0
  let isDue = false
  let isBusy = false
  let toldMissing = known === undefined

  const look = (): void => {
    const found = signature(file)
    if (found === undefined) {
      if (!toldMissing) options.onMissing()
      toldMissing = true
      known = last = undefined
      changedAt = 0
      return
    }
    toldMissing = false
    if (found !== known && changedAt === 0) changedAt = performance.now()
    const isStill = found === last
    last = found
    if (isBusy) return
    const waited = changedAt !== 0 && performance.now() - changedAt >= LONGEST_WAIT_MS
    if (!isDue && (found === known || !(isStill || waited))) return
    known = found
    changedAt = 0
    isDue = false
    isBusy = true
    void options.onChange().finally(() => {
      isBusy = false
    })
  }
  const timer = setInterval(look, everyMs)

  return {
    now() {
      isDue = true
    },
    close: () => clearInterval(timer),
  }
}

/** Which file stands under the name, links followed, and when it was last written; undefined without one. */
function signature(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) return undefined
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(':')
}
