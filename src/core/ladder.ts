/**
 * @module
 * The ladder: the SM counts a shared stage may be held to (paper, section 4.4). Rows 0 to `cap` serve co-running, from Smin to
 * Scap; the last row, `aggressive`, is for when no downstream stage runs and stands outside the co-running ladder.
 */
import { expectInteger } from './errors.js'

export interface Ladder {
  /** SMs of the whole GPU. */
  readonly totalSms: number
  /** SMs per row; strictly rising, the last row is the aggressive one. */
  readonly sms: Int32Array
  /** Row of Scap: the highest that may be used while a downstream stage runs. */
  readonly cap: number
  /** Row of Saggr. */
  readonly aggressive: number
}

export interface LadderSpec {
  readonly totalSms: number
  /** Co-running rows, Smin first, Scap last. */
  readonly levels: readonly number[]
  /** @default totalSms */
  readonly aggressiveSms?: number
}

/** Checks and builds a ladder. Throws `ERR_CORE_LADDER` unless `Smin <= Scap < Saggr <= Stot`. */
export function createLadder(spec: LadderSpec): Ladder {
  const { totalSms, levels } = spec
  const aggressiveSms = spec.aggressiveSms ?? totalSms
  expectInteger('ERR_CORE_LADDER', 'ladder.totalSms', totalSms, 1)
  expectInteger('ERR_CORE_LADDER', 'ladder.levels', levels.length, 1, 64)
  let least = 1
  // Rows rise strictly.
  for (const [i, level] of levels.entries()) {
    expectInteger('ERR_CORE_LADDER', `ladder.levels[${i}]`, level, least)
    least = level + 1
  }
  expectInteger('ERR_CORE_LADDER', 'ladder.aggressiveSms', aggressiveSms, least, totalSms)
  return {
    totalSms,
    sms: Int32Array.from([...levels, aggressiveSms]),
    cap: levels.length - 1,
    aggressive: levels.length,
  }
}

/** The ladder of a runtime whose SMs are not controlled: one co-running row and the whole GPU, both nominal. */
export const NO_LADDER: Ladder = Object.freeze({
  totalSms: 2,
  sms: Int32Array.of(1, 2),
  cap: 0,
  aggressive: 1,
})

/**
 * Row among 0..cap whose SM count is nearest to `targetSms[0]`; ties go up (eq. 1, `snap`). The target comes in a cell: a double that
 * crosses a call is boxed wherever the call is not inlined. @hot
 */
export function snapToLevel(ladder: Ladder, targetSms: Float64Array): number {
  const { sms, cap } = ladder
  let row = 0
  while (row < cap && targetSms[0]! - sms[row]! >= sms[row + 1]! - targetSms[0]!) row += 1
  return row
}
