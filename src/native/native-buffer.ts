/**
 * @module
 * Memory that C writes and JavaScript reads, allocated once and reused: a struct returned by value costs 10 to 25 times
 * a read through a view. The address is fixed, so it can be handed over as a plain BigInt.
 */
import { loadKoffi, type Pointer } from './koffi.js'

/** Zeroed native memory and views over it, little-endian as the machine is. */
export interface NativeBuffer {
  readonly pointer: Pointer
  readonly bytes: number
  readonly u8: Uint8Array
  readonly u32: Uint32Array
  readonly i32: Int32Array
  readonly f32: Float32Array
  readonly f64: Float64Array
  readonly u64: BigUint64Array
  readonly data: DataView
  /** The text up to the first NUL, from a byte offset; bytes that are not UTF-8 become U+FFFD. */
  text(offset: number, maxBytes: number): string
  /** Gives the memory back; the views must not be touched again. Idempotent. */
  free(): void
}

/** `bytes` is rounded up to 8, so that every view covers it; malloc's 16-byte alignment fits every C struct in use. */
export function allocateNative(bytes: number): NativeBuffer {
  const koffi = loadKoffi()
  const size = Math.max(8, Math.ceil(bytes / 8) * 8)
  const pointer = koffi.alloc('uint8_t', size)
  const memory = koffi.view(pointer, size)
  const u8 = new Uint8Array(memory)
  u8.fill(0)
  let isFree = false
  return {
    pointer,
    bytes: size,
    u8,
    u32: new Uint32Array(memory),
    i32: new Int32Array(memory),
    f32: new Float32Array(memory),
    f64: new Float64Array(memory),
    u64: new BigUint64Array(memory),
    data: new DataView(memory),
    text: (offset, maxBytes) => readText(u8, offset, maxBytes),
    free() {
      if (isFree) return
      isFree = true
      koffi.free(pointer)
    },
  }
}

const decoder = new TextDecoder()

/** A C string in `memory`: stops at the first NUL, at `maxBytes`, or at the end of the memory. */
export function readText(memory: Uint8Array, offset: number, maxBytes: number): string {
  const end = Math.min(memory.length, offset + maxBytes)
  let length = 0
  while (offset + length < end && memory[offset + length] !== 0) length += 1
  return decoder.decode(memory.slice(offset, offset + length))
}
