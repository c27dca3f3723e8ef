/**
 * @module
 * Seeded randomness: xoshiro128** (Blackman and Vigna, 2018) seeded by splitmix32. Every use draws from a stream of its own,
 * named by a label, so that adding a draw in one place does not move the numbers of another: runs stay paired.
 */
import { HorizonError } from '../core/errors.js'

export interface Rng {
  /** Uniform on [0, 1), 53 bits. */
  next(): number
  /** Uniform on (0, 1): safe to take the logarithm of. */
  open(): number
  /** Uniform 32-bit unsigned integer. */
  uint32(): number
  /** Uniform integer in [0, bound), unbiased, for a bound of 1 to 2^32. */
  below(bound: number): number
  /** An independent stream, a function of this stream's seed and the label alone, not of what was drawn. */
  fork(label: string | number): Rng
}

/** `seed` is any safe integer, negative ones included, or a string. */
export function createRng(seed: number | string): Rng {
  if (typeof seed === 'number' && !Number.isSafeInteger(seed)) {
    throw new HorizonError('ERR_SIM_SEED', 'cannot seed the generator', {
      field: 'seed',
      expected: 'a safe integer or a string',
      got: seed,
    })
  }
  return fromHash(hash64(2166136261, 40503, typeof seed === 'number' ? `#${seed}` : seed))
}

type Hash = readonly [number, number]

function fromHash(seed: Hash): Rng {
  let mixer = seed[0] ^ 0x9e3779b9
  const mix = (salt: number): number => {
    mixer = (mixer + 0x9e3779b9 + salt) | 0
    let z = mixer
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
  let s0 = mix(seed[1])
  let s1 = mix(seed[0])
  let s2 = mix(seed[1] ^ seed[0])
  let s3 = mix(0) | 1 // never the all-zero state

  function uint32(): number {
    const times5 = Math.imul(s1, 5)
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0
    const shifted = s1 << 9
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << 11) | (s3 >>> 21)
    return result
  }

  function next(): number {
    return ((uint32() >>> 5) * 67108864 + (uint32() >>> 6)) / 9007199254740992
  }

  return {
    next,
    open() {
      return ((uint32() >>> 6) * 67108864 + (uint32() >>> 6) + 0.5) / 4503599627370496
    },
    uint32,
    below(bound) {
      if (!Number.isInteger(bound) || bound < 1 || bound > 4294967296) {
        throw new HorizonError('ERR_SIM_BOUND', 'cannot draw below this bound', {
          field: 'bound',
          expected: 'an integer from 1 to 2^32',
          got: bound,
        })
      }
      const limit = 4294967296 - (4294967296 % bound)
      let value = uint32()
      while (value >= limit) value = uint32()
      return value % bound
    },
    fork(label) {
      const name = typeof label === 'number' ? `#${label}` : label
      return fromHash(hash64(seed[0], seed[1], name))
    },
  }
}

/** Two 32-bit FNV-like lanes with different multipliers, finished by a mix: cheap, and distinct labels do not collide in practice. */
function hash64(first: number, second: number, text: string): Hash {
  let h1 = first | 0
  let h2 = second | 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    h1 = Math.imul(h1 ^ code, 16777619)
    h2 = Math.imul(h2 ^ code, 2246822519) + (h1 >>> 13)
  }
  h1 = Math.imul(h1 ^ (h2 >>> 16), 0x85ebca6b) ^ text.length
  h2 = Math.imul(h2 ^ (h1 >>> 13), 0xc2b2ae35)
  return [h1 ^ (h1 >>> 16), h2 ^ (h2 >>> 15)]
}
