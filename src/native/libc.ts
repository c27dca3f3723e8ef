/**
 * @module
 * The few calls of libc that Node has no word for: shared mappings, futexes, locks on byte ranges, processors. Linux only.
 */
import { loadKoffi, type Pointer } from './koffi.js'
import { openLibrary } from './library.js'
import { nativeError } from './native-error.js'

/** Bound once. Addresses are BigInt; results that mean failure are checked by the callers. */
export interface Libc {
  readonly mmap: (
    address: Pointer,
    bytes: number,
    protection: number,
    flags: number,
    fd: number,
    offset: number,
  ) => Pointer
  /** `futex` through `syscall`: libc has no wrapper, and every argument is a `long`. Those that an operation ignores are left out. */
  readonly futexWait: (
    number: number,
    word: Pointer,
    operation: number,
    value: number,
    timeout: BigInt64Array,
  ) => number
  readonly futexWake: (number: number, word: Pointer, operation: number, count: number) => number
  readonly schedGetAffinity: (thread: number, bytes: number, mask: Uint8Array) => number
  readonly schedSetAffinity: (thread: number, bytes: number, mask: Uint8Array) => number
  readonly fcntl: (fd: number, command: number, lock: Uint8Array) => number
  readonly errno: () => number
}

let bound: Libc | undefined

/**
 * @throws `ERR_NATIVE_PLATFORM_UNAVAILABLE` off Linux on x64 or arm64; `ERR_NATIVE_KOFFI_UNAVAILABLE` without koffi.
 */
export function loadLibc(): Libc {
  if (bound !== undefined) return bound
  if (process.platform !== 'linux' || (process.arch !== 'x64' && process.arch !== 'arm64')) {
    throw nativeError(
      'ERR_NATIVE_PLATFORM_UNAVAILABLE',
      `shared memory with an engine needs Linux on x64 or arm64, got ${process.platform} on ${process.arch}`,
      'Run the controller on the machine where the engine runs',
    )
  }
  const library = openLibrary(
    ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'],
    'The C library of this system was not found',
  )
  bound = {
    mmap: library.bind(
      'void *mmap(void *address, size_t bytes, int protection, int flags, int fd, int64_t offset)',
    ),
    futexWait: library.bind(
      'long syscall(long number, void *word, long operation, long value, void *timeout)',
    ),
    futexWake: library.bind('long syscall(long number, void *word, long operation, long count)'),
    schedGetAffinity: library.bind('int sched_getaffinity(int thread, size_t bytes, void *mask)'),
    schedSetAffinity: library.bind('int sched_setaffinity(int thread, size_t bytes, void *mask)'),
    fcntl: library.bind('int fcntl(int fd, int command, void *lock)'),
    errno: () => loadKoffi().errno(),
  }
  return bound
}
