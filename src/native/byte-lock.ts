/**
 * @module
 * Locks on single bytes of an open file (open-file-description locks). The kernel drops them when their holder dies, however it
 * dies, so there is no stale lock to guess about and no process id that another program may have by now.
 */
import { loadLibc } from './libc.js'
import { nativeError } from './native-error.js'

const F_OFD_GETLK = 36
const F_OFD_SETLK = 37
const WRITE_LOCK = 1
const UNLOCK = 2
const EACCES = 13
const EAGAIN = 11

/** Takes the lock on one byte, or returns false when somebody holds it. Held until `fd` is closed or the process ends. */
export function tryLockByte(fd: number, offset: number): boolean {
  const libc = loadLibc()
  if (libc.fcntl(fd, F_OFD_SETLK, describe(WRITE_LOCK, offset)) === 0) return true
  const errno = libc.errno()
  if (errno === EACCES || errno === EAGAIN) return false
  throw lockError(offset, errno)
}

/** Whether another open file description holds the byte. */
export function isByteLocked(fd: number, offset: number): boolean {
  const libc = loadLibc()
  const lock = describe(WRITE_LOCK, offset)
  if (libc.fcntl(fd, F_OFD_GETLK, lock) !== 0) throw lockError(offset, libc.errno())
  return new DataView(lock.buffer).getInt16(0, true) !== UNLOCK
}

/** `struct flock` of 64-bit Linux: type, whence, start @8, length @16, pid @24 (must be 0 for these locks). */
function describe(type: number, offset: number): Uint8Array {
  const lock = new Uint8Array(32)
  const view = new DataView(lock.buffer)
  view.setInt16(0, type, true)
  view.setBigInt64(8, BigInt(offset), true)
  view.setBigInt64(16, 1n, true)
  return lock
}

function lockError(offset: number, errno: number): Error {
  return nativeError(
    'ERR_NATIVE_LOCK',
    `locking byte ${offset} failed with errno ${errno}`,
    'The file must be open for writing, on a file system with locks',
  )
}
