/**
 * @module
 * Writes files of the project and no others, also when somebody swaps a folder for a link between the check and the write: the
 * file is made new, never through a link, and before a byte goes into it, it must be where it was meant to be.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { containedPath, isInside, outside } from './contained-path.js'

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0

/** What became of a file: a different one is never overwritten. */
export type Written = 'written' | 'same' | 'different'

/** Makes `path` (relative to `root`) with `text` in it. */
export function writeInside(root: string, path: string, text: string, field: string): Written {
  const target = containedPath(root, path, field)
  if (existsSync(target)) return readPlain(target) === text ? 'same' : 'different'
  mkdirSync(dirname(target), { recursive: true })
  const descriptor = openPlain(
    target,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
    field,
  )
  try {
    if (!isThatFile(root, target, descriptor)) {
      unlinkSync(target)
      throw outside(field, path)
    }
    writeFileSync(descriptor, text)
  } finally {
    closeSync(descriptor)
  }
  return 'written'
}

/** Opens a plain file that is no link; `flags` as of open(2). */
export function openPlain(file: string, flags: number, field: string): number {
  let descriptor: number
  try {
    descriptor = openSync(file, flags | NO_FOLLOW, 0o644)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ELOOP' || code === 'EISDIR') throw outside(field, file)
    throw error
  }
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  throw outside(field, file)
}

/** Undefined for what is no plain file. */
function readPlain(file: string): string | undefined {
  return statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined
}

/** True when the open file is the one that the path leads to, and lies inside. */
function isThatFile(root: string, target: string, descriptor: number): boolean {
  if (!isInside(realpathSync(root), realpathSync(target))) return false
  const [named, open] = [statSync(target), fstatSync(descriptor)]
  return named.ino === open.ino && named.dev === open.dev
}
