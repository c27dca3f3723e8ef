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

/** Bytes that `readQuestion` needs for its copy. */
export const QUESTION_BYTES = BODY_BYTES + 4

/** The number of the last question; compared with the last one answered. */
export function readBell(u32: Uint32Array): number {
  return Atomics.load(u32, BOUNDARY_OFFSET / 4)
}

/** The number of the last question that was answered, as the engine sees it. */
export function readAnswered(u32: Uint32Array): number {
  return Atomics.load(u32, BOUNDARY_OFFSET / 4 + 16)
}

/** Reads a copy of the question into `out`; false when its checksum is wrong, which then gets no answer. */
export function readQuestion(shared: Uint8Array, copy: DataView, out: BoundaryQuestion): boolean {
  const bytes = new Uint8Array(copy.buffer, copy.byteOffset, QUESTION_BYTES)
  bytes.set(shared.subarray(BOUNDARY_OFFSET + 8, BOUNDARY_OFFSET + 8 + QUESTION_BYTES))
  if (copy.getUint32(BODY_BYTES, true) !== crc32(bytes, 0, 0, BODY_BYTES)) return false
  out.nowNs = copy.getBigInt64(0, true)
  out.step = copy.getUint32(8, true)
  out.running = copy.getUint32(12, true)
  out.waiting = copy.getUint32(16, true)
  out.cursor = copy.getUint32(20, true)
  return true
}
