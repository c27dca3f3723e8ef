/** The built package, for tests that use it by its name: built anew when a source is newer, once, whoever asks first. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ENTRIES = ['index.js', 'index.d.ts', 'core/index.js', 'core/index.d.ts', 'cli/main.js']
/** Held while somebody builds. One that is older than any build was left by a process that died. */
const LOCK = join(ROOT, 'out/dist.lock')
const LONGEST_BUILD_MS = 240_000

/** Whether every entry is built, and after the last change of a source. */
async function isFresh(): Promise<boolean> {
  const built: number[] = []
  for (const entry of ENTRIES) {
    const path = join(ROOT, 'dist', entry)
    if (!existsSync(path)) return false
    built.push((await stat(path)).mtimeMs)
  }
  const changed: number[] = []
  for (const file of await readdir(join(ROOT, 'src'), { recursive: true }))
    changed.push((await stat(join(ROOT, 'src', file))).mtimeMs)
  return Math.max(...changed) <= Math.min(...built)
}

async function takeLock(): Promise<boolean> {
  await mkdir(join(ROOT, 'out'), { recursive: true })
  try {
    await mkdir(LOCK)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const left = await stat(LOCK).catch(() => undefined)
    if (left !== undefined && Date.now() - left.mtimeMs > LONGEST_BUILD_MS)
      await rm(LOCK, { recursive: true, force: true })
    return false
  }
}

/** Resolves when `dist` is that of today's sources and nobody is writing it. */
export async function freshDist(): Promise<void> {
  while (!(await takeLock())) await sleep(200)
  try {
    if (await isFresh()) return
    await promisify(execFile)('npx', ['tsup', '--silent'], { cwd: ROOT })
  } finally {
    await rm(LOCK, { recursive: true, force: true })
  }
}
