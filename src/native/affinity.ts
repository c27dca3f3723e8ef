/**
 * @module
 * On which processors the calling thread may run. Node has no word for it. Linux only; a machine that the kernel describes with more
 * than 1,024 processors counts as one about which nothing is known.
 */
import { loadLibc } from './libc.js'

const MASK_BYTES = 128
const THIS_THREAD = 0

/** A bit per processor, or undefined where the kernel does not say. */
export function allowedProcessors(): Uint8Array | undefined {
  const mask = new Uint8Array(MASK_BYTES)
  return loadLibc().schedGetAffinity(THIS_THREAD, MASK_BYTES, mask) === 0 ? mask : undefined
}

/** Keeps the calling thread to the processors of a mask; false where the kernel refuses, and then nothing has changed. */
export function keepToProcessors(mask: Uint8Array): boolean {
  return loadLibc().schedSetAffinity(THIS_THREAD, mask.length, mask) === 0
}
