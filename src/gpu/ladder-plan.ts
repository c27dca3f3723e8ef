/**
 * @module
 * Arithmetic of a ladder: which rows a split into equal groups can give for the SM counts somebody wants. No driver here.
 *
 * Two sides are complementary only as parts of one split: row k is groups 0..k for the shared side and all other
 * groups with the remainder for the downstream side. Two separate requests would overlap, since each takes the same first groups.
 */
import { HorizonError } from '../core/errors.js'

/** What the device was split into. */
export interface SplitShape {
  readonly totalSms: number
  /** SMs of one group, as the driver made it. */
  readonly groupSms: number
  readonly numGroups: number
}

/** A wanted level that the ladder has no row for. */
export interface DroppedLevel {
  readonly wantedSms: number
  readonly reason: string
}

/** Rows by number of groups on the shared side, rising, each with the wish it serves. */
export interface LadderPlan {
  readonly rows: readonly { readonly groups: number; readonly wantedSms: number }[]
  readonly dropped: readonly DroppedLevel[]
}

/**
 * Wishes that can never be met are mistakes of the caller.
 * @throws `ERR_GPU_LEVELS` for an empty list, a count that is not a whole number, or one outside 1..total-1
 */
export function checkWantedSms(wanted: readonly number[], totalSms: number): void {
  if (wanted.length === 0) throw levelsError('levels', 'at least one SM count', 'none')
  wanted.forEach((sms, index) => {
    if (!Number.isInteger(sms) || sms < 1 || sms >= totalSms) {
      throw levelsError(
        `levels[${index}]`,
        `a whole number of SMs from 1 to ${totalSms - 1}, so that both sides have some`,
        sms,
      )
    }
  })
}

/** @throws `ERR_GPU_LEVELS` for an aggressive row that no device could have */
export function checkAggressiveSms(sms: number, totalSms: number): void {
  if (!Number.isInteger(sms) || sms < 1 || sms > totalSms)
    throw levelsError('aggressiveSms', `a whole number from 1 to ${totalSms}`, sms)
}

/** Snaps each wanted count to the nearest row, ties up; two wishes that meet in one row leave the second dropped. */
export function planRows(shape: SplitShape, wanted: readonly number[]): LadderPlan {
  const { totalSms, groupSms, numGroups } = shape
  const rows = new Map<number, number>()
  const dropped: DroppedLevel[] = []
  for (const sms of [...wanted].sort((a, b) => a - b)) {
    const groups = Math.min(numGroups, Math.floor(sms / groupSms + 0.5))
    const taken = rows.get(groups)
    if (groups < 1) {
      dropped.push({
        wantedSms: sms,
        reason: `fewer than half of the smallest group of ${groupSms} SMs`,
      })
    } else if (totalSms - groups * groupSms <= 0) {
      dropped.push({ wantedSms: sms, reason: 'leaves no SM to the other side' })
    } else if (taken !== undefined) {
      dropped.push({
        wantedSms: sms,
        reason: `the same row as ${taken}: groups of ${groupSms} SMs make both ${groups * groupSms}`,
      })
    } else {
      rows.set(groups, sms)
    }
  }
  return { rows: [...rows].map(([groups, wantedSms]) => ({ groups, wantedSms })), dropped }
}

/** Evenly spread wishes for somebody who names only how many: from about a third to about nine tenths of the device. */
export function spreadLevels(totalSms: number, count: number): number[] {
  if (!Number.isInteger(count) || count < 1 || count > 16)
    throw levelsError('count', 'from 1 to 16 levels', count)
  const low = 1 / 3
  const high = 0.9
  return Array.from({ length: count }, (_, i) =>
    Math.round(totalSms * (count === 1 ? high : low + ((high - low) * i) / (count - 1))),
  )
}

function levelsError(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_GPU_LEVELS', 'no such ladder', {
    field,
    expected,
    got,
    hint: '`horizonserve doctor` prints the SM count and the granularity',
  })
}
