/**
 * @module
 * Finding segments by name, and removing those whose engine is dead. Death is what the kernel says: no stage process holds its lock.
 */
import { closeSync, fstatSync, lstatSync, readdirSync, unlinkSync } from 'node:fs'
import { isHorizonError } from '../core/errors.js'
import { isByteLocked, tryLockByte } from '../native/byte-lock.js'
import { segmentError } from './adapter-error.js'
import { LOCK, MAX_STAGES } from './layout.js'
import { openSegmentFile } from './segment-file.js'

const SHM = '/dev/shm'
const PREFIX = 'horizonserve-'

/** Where the segment of this name lies. A name, not a path: it may not leave the folder. */
export function segmentPath(name: string): string {
  if (name.length < 1 || name.length > 64 || name.includes('/') || name.startsWith('.')) {
    throw segmentError('SEGMENT', 'impossible name of a segment', {
      field: 'engine.segment',
      expected: "1 to 64 characters without '/'",
      got: name,
    })
  }
  return `${SHM}/${PREFIX}${name}`
}

/** Names of all segments that are there, dead ones included. */
export function listSegments(): string[] {
  return readdirSync(SHM)
    .filter((file) => file.startsWith(PREFIX) && !file.endsWith('.new'))
    .map((file) => file.slice(PREFIX.length))
}

/** Removes the segment when no stage process lives; true when it is gone. Safe beside an engine that starts. */
export function removeIfDead(path: string): boolean {
  let fd: number
  try {
    fd = openSegmentFile(path)
  } catch (error) {
    if (isHorizonError(error) && error.code === 'ERR_ADAPTERS_SEGMENT_UNAVAILABLE') return true
    throw error
  }
  try {
    if (!tryLockByte(fd, LOCK.janitor)) return false
    for (let s = 0; s < MAX_STAGES; s++) if (isByteLocked(fd, LOCK.stage0 + s)) return false
    // Another file may stand under the name since this one was opened.
    if (fstatSync(fd).ino === lstatSync(path).ino) unlinkSync(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
    throw error
  } finally {
    closeSync(fd)
  }
}
