/**
 * @module
 * Log-linear buckets of estimated times: 8 per octave, rounded **up**, so that a bucket never promises more slack than there is.
 * Waiting requests of one class, SLO and bucket share one estimate, which is what makes a step cheap (docs/core.md).
 * The error is at most 1/8 of the estimate; estimates outside [2^-4, 2^28] ms (62 us to 74 h) are clamped.
 */
import { doubles } from './columns.js'

const MIN_EXPONENT = -4
const MAX_EXPONENT = 28
const PER_OCTAVE = 8

/** Number of buckets, the clamped ends included. */
export const NUM_BUCKETS = (MAX_EXPONENT - MIN_EXPONENT) * PER_OCTAVE + 1

/** Upper edge of each bucket, ms: `bucketMs[bucketOf(x)] >= x` inside the range. */
export const bucketMs: Float64Array = buildEdges()

/** Where the hot path puts the estimate of which `bucketInCell` is asked: a double that crosses a call may be boxed. */
export const bucketCell: Float64Array = doubles(1)
const words = new Uint32Array(bucketCell.buffer)

/**
 * The bucket of an estimate in ms: the smallest whose edge is not below it. Reads the exponent and the top three bits of the
 * mantissa instead of taking a logarithm, so that TypeScript and Python agree on every double.
 */
export function bucketOf(ms: number): number {
  bucketCell[0] = ms
  return bucketInCell()
}

/** `bucketOf(bucketCell[0])`, without a double that crosses a call. @hot */
export function bucketInCell(): number {
  const ms = bucketCell[0]!
  if (!(ms > bucketMs[0]!)) return 0
  if (ms >= bucketMs[NUM_BUCKETS - 1]!) return NUM_BUCKETS - 1
  const high = words[1]!
  const exponent = (high >>> 20) - 1023
  const eighth = (high >>> 17) & 7
  const rest = (high & 0x1ffff) | words[0]!
  return (exponent - MIN_EXPONENT) * PER_OCTAVE + eighth + (rest === 0 ? 0 : 1)
}

function buildEdges(): Float64Array {
  const edges = doubles(NUM_BUCKETS)
  for (let i = 0; i < NUM_BUCKETS; i++) {
    edges[i] = 2 ** (MIN_EXPONENT + (i >> 3)) * (1 + (i & 7) / PER_OCTAVE)
  }
  return edges
}
