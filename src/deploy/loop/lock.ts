/**
 * @module
 * One writer per project. The lock file names its owner; a lock whose owner is gone (kill -9 leaves it behind) is taken over.
 */
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { HorizonError } from '../../core/errors.js'

/** Takes the lock; returns what gives it back. */
export function takeLock(file: string): () => void {
  const mine = JSON.stringify({ pid: process.pid, started: startOf(process.pid) })
  for (let attempt = 0; attempt < 10; attempt++) {
    if (tryCreate(file, mine)) return () => release(file, mine)
    const owner = readOwner(file)
    if (owner === undefined) continue
    if (isAlive(owner.text)) {
      throw new HorizonError('ERR_DEPLOY_LOOP_LOCKED', 'another process works on this project', {
        field: file,
        got: owner.text,
        hint: 'End it first; two loops on one journal would invent histories',
      })
    }
    evict(file, owner.text)
  }
  throw new HorizonError('ERR_DEPLOY_LOOP_LOCKED', 'the lock changes hands too quickly', {
    field: file,
  })
}

/** The content is written aside and linked into place, so that a lock is never seen without its owner. */
function tryCreate(file: string, content: string): boolean {
  const aside = `${file}.new-${process.pid}`
  // Made new, never written through: what lies there is left over from a process of the same number, or a link.
  rmSync(aside, { force: true })
  writeFileSync(aside, content, { flag: 'wx' })
  try {
    linkSync(aside, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    unlinkSync(aside)
  }
}

function readOwner(file: string): { readonly text: string } | undefined {
  try {
    return { text: readFileSync(file, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Moves the dead lock aside; if in between somebody else took it over, puts theirs back. */
function evict(file: string, dead: string): void {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if (readFileSync(aside, 'utf8') === dead) unlinkSync(aside)
  else renameSync(aside, file)
}

function release(file: string, mine: string): void {
  if (readOwner(file)?.text === mine) unlinkSync(file)
}

/** What is no lock of ours holds nobody. */
function isAlive(text: string): boolean {
  let owner: { pid?: unknown; started?: unknown } | null
  try {
    owner = JSON.parse(text)
  } catch {
    return false
  }
  if (typeof owner?.pid !== 'number' || !Number.isInteger(owner.pid) || owner.pid <= 0) return false
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  // Numbers of processes come round again; their start times do not.
  return startOf(owner.pid) === owner.started
}

/** Start time in clock ticks since boot, where the system tells (Linux); null elsewhere. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
