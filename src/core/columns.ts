/**
 * @module
 * Columns of numbers: what the core keeps per request, per class and per list, and cells for doubles that must not be boxed.
 */

export function doubles(count: number): Float64Array {
  return new Float64Array(count)
}

export function integers(count: number): Int32Array {
  return new Int32Array(count)
}

export function bytes(count: number): Uint8Array {
  return new Uint8Array(count)
}
