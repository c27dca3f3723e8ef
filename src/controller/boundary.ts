/**
 * @module
 * The engine's question in lockstep, as it stands in the segment, and the words it is asked and answered with.
 */
import { crc32 } from '../adapters/crc32.js'
import { BOUNDARY_OFFSET } from '../adapters/layout.js'

/** What a step boundary says. */
export interface BoundaryQuestion {
  nowNs: bigint
  step: number
  running: number
  waiting: number
  /** Events that the engine had written when it asked. */
  cursor: number
}

/** Time, step, running, waiting, cursor; the checksum follows. */
const BODY_BYTES = 24

const QUESTION_WORDS = BODY_BYTES / 4 + 1

/** The number of the last question; compared with the last one answered. */
export function readBell(u32: Uint32Array): number {
  return Atomics.load(u32, BOUNDARY_OFFSET / 4)
}

/** The number of the last question that was answered, as the engine sees it. */
export function readAnswered(u32: Uint32Array): number {
  return Atomics.load(u32, BOUNDARY_OFFSET / 4 + 16)
}

/**
 * A reader of the question into `out`, by a copy; it returns false when the checksum is wrong, which then gets no answer. The engine waits
 * meanwhile, so nothing is allocated but the time.
 */
export function questionReader(u32: Uint32Array, out: BoundaryQuestion): () => boolean {
  const words = new Uint32Array(QUESTION_WORDS)
  const bytes = new Uint8Array(words.buffer)
  const times = new BigInt64Array(words.buffer, 0, 1)
  return () => {
    for (let i = 0; i < QUESTION_WORDS; i++) words[i] = u32[BOUNDARY_OFFSET / 4 + 2 + i]!
    if (words[BODY_BYTES / 4] !== crc32(bytes, 0, 0, BODY_BYTES)) return false
    out.nowNs = times[0]!
    out.step = words[2]!
    out.running = words[3]!
    out.waiting = words[4]!
    out.cursor = words[5]!
    return true
  }
}
