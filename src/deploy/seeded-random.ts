/**
 * @module
 * The generator behind every random choice of this room: which side of a pair runs first, which labels a randomisation
 * test swaps, where a search or a schedule looks next. Same seed, same numbers, on every machine. Not for secrets.
 */

/** A stream of numbers drawn from one seed. */
export interface SeededRandom {
  /** Uniform in [0, 1), 32 bits of resolution. */
  uniform(): number
  /** A fair coin. */
  coin(): boolean
  /** Uniform integer in [0, limit). */
  below(limit: number): number
}

/**
 * `sfc32` (Doty-Humphrey's small fast counting generator) over a hashed seed; passes PractRand to 2 TiB, period over 2^32.
 *
 * @example
 * const random = seededRandom('pair-order')
 * const referenceFirst = random.coin()
 */
export function seededRandom(seed: string | number): SeededRandom {
  let hash = fnv1a(String(seed))
  const word = (): number => {
    hash = (hash + 0x9e3779b9) | 0
    let x = hash
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
    return x ^ (x >>> 16)
  }
  let a = word()
  let b = word()
  let c = word()
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return sum >>> 0
  }
  // The first outputs still show the seed's structure.
  for (let i = 0; i < 12; i++) next()
  return {
    uniform: () => next() / 2 ** 32,
    // The top bit: the low bits of a counting generator are its weakest.
    coin: () => next() >= 2 ** 31,
    below: (limit) => Math.floor((next() / 2 ** 32) * limit),
  }
}

/** 32-bit FNV-1a over UTF-16 code units; spreads short seeds that differ in one character. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
