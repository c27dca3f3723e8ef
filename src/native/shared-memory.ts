/**
 * @module
 * A file mapped into this process, shared with others. A mapping is kept until the process ends: unmapping under a view is a
 * segmentation fault, and a file that shrinks under it is a bus error, so neither is offered.
 */
import { loadKoffi, type Pointer } from './koffi.js'
import { loadLibc } from './libc.js'
import { nativeError } from './native-error.js'

const PROT_READ_WRITE = 3
const MAP_SHARED = 1
/** What `mmap` returns when it fails: -1 as an address. */
const MAP_FAILED = 18446744073709551615n

/** A mapping. Pass `address` and `byteLength` to a worker and call `viewShared` there: posting the buffer would copy it. */
export interface SharedMapping {
  readonly address: Pointer
  readonly buffer: ArrayBuffer
}

/**
 * Maps the first `bytes` of an open file, readable and writable. The descriptor may be closed afterwards.
 * @throws `ERR_NATIVE_MMAP`
 */
export function mapShared(fd: number, bytes: number): SharedMapping {
  const libc = loadLibc()
  const address = libc.mmap(0n, bytes, PROT_READ_WRITE, MAP_SHARED, fd, 0)
  if (address === MAP_FAILED || address === 0n) {
    throw nativeError(
      'ERR_NATIVE_MMAP',
      `mapping ${bytes} bytes of descriptor ${fd} failed with errno ${libc.errno()}`,
      'The file must be open for reading and writing and at least that long',
    )
  }
  return viewShared(address, bytes)
}

/** A view of a mapping made elsewhere in this process. */
export function viewShared(address: Pointer, bytes: number): SharedMapping {
  return { address, buffer: loadKoffi().view(address, bytes) }
}
