/**
 * @module
 * What another process needs to build the very same ladder: the device's SM total, the one split call, and the rows as
 * numbers of groups. Never a pointer and never the driver's struct, whose bytes are addresses of one process.
 */
import { HorizonError } from '../core/errors.js'

/**
 * How a row was cut. `groups`: groups of the one split. `pair`: a split of its own into one group and the remainder, for drivers
 * that refuse groups and remainder in one descriptor. `split`: the same by the heterogeneous split (CUDA 13.1).
 * `whole`: the primary context, every SM.
 */
export type RowMethod = 'groups' | 'pair' | 'split' | 'whole'

/** One row, the shared side's SMs and the rest. */
export interface DescribedRow {
  readonly method: RowMethod
  /** Groups on the shared side; 0 for `whole`. */
  readonly groups: number
  readonly sharedSms: number
  readonly downstreamSms: number
}

/** Plain data; safe to write to JSON and to hand to Python (`horizonserve.green.Ladder.from_description`). */
export interface LadderDescription {
  readonly format: 1
  readonly totalSms: number
  /** `minCount` of the one split call. */
  readonly minCount: number
  /** What the driver made of it: SMs per group, and groups. Checked by whoever rebuilds. */
  readonly groupSms: number
  readonly numGroups: number
  /** Co-running rows, rising. */
  readonly levels: readonly DescribedRow[]
  readonly aggressive: DescribedRow
}

/** The same rows for the core: row k there is row k here, the aggressive row last. */
export function ladderSpec(description: LadderDescription): {
  totalSms: number
  levels: number[]
  aggressiveSms: number
} {
  return {
    totalSms: description.totalSms,
    levels: description.levels.map((row) => row.sharedSms),
    aggressiveSms: description.aggressive.sharedSms,
  }
}

const METHODS: readonly string[] = ['groups', 'pair', 'split', 'whole'] satisfies RowMethod[]

/**
 * Checks a description that came from a file or another process.
 * @throws `ERR_GPU_LADDER_DESCRIPTION` naming the field
 */
export function parseLadderDescription(value: unknown): LadderDescription {
  const top = record(value, 'description')
  if (top.format !== 1) throw wrong('format', '1', top.format)
  const totalSms = count(top.totalSms, 'totalSms', 2, 4096)
  const minCount = count(top.minCount, 'minCount', 1, totalSms)
  const groupSms = count(top.groupSms, 'groupSms', 1, totalSms)
  const numGroups = count(top.numGroups, 'numGroups', 1, Math.floor(totalSms / groupSms))
  if (!Array.isArray(top.levels) || top.levels.length === 0 || top.levels.length > 64)
    throw wrong('levels', 'a list of 1 to 64 rows', top.levels)
  const shape = { totalSms, groupSms, numGroups }
  const levels = top.levels.map((row, i) => parseRow(row, `levels[${i}]`, shape))
  levels.forEach((row, i) => {
    if (row.method === 'whole') throw wrong(`levels[${i}].method`, 'a partition', row.method)
    const below = levels[i - 1]?.sharedSms ?? 0
    if (row.sharedSms <= below)
      throw wrong(`levels[${i}].sharedSms`, `more than ${below} (rows rise)`, row.sharedSms)
  })
  const aggressive = parseRow(top.aggressive, 'aggressive', shape)
  if (aggressive.sharedSms <= (levels.at(-1)?.sharedSms ?? 0))
    throw wrong('aggressive.sharedSms', 'more than the last level', aggressive.sharedSms)
  return { format: 1, totalSms, minCount, groupSms, numGroups, levels, aggressive }
}

function parseRow(
  value: unknown,
  field: string,
  shape: { totalSms: number; groupSms: number; numGroups: number },
): DescribedRow {
  const row = record(value, field)
  if (typeof row.method !== 'string' || !METHODS.includes(row.method))
    throw wrong(`${field}.method`, METHODS.join(' | '), row.method)
  const method = row.method as RowMethod
  const isWhole = method === 'whole'
  const groups = count(
    row.groups,
    `${field}.groups`,
    isWhole ? 0 : 1,
    isWhole ? 0 : shape.numGroups,
  )
  const sharedSms = count(row.sharedSms, `${field}.sharedSms`, 1, shape.totalSms)
  const downstreamSms = count(row.downstreamSms, `${field}.downstreamSms`, 0, shape.totalSms)
  if (sharedSms + downstreamSms !== shape.totalSms)
    throw wrong(field, `two sides that sum to ${shape.totalSms}`, sharedSms + downstreamSms)
  if (!isWhole && sharedSms !== groups * shape.groupSms)
    throw wrong(`${field}.sharedSms`, `${groups} groups of ${shape.groupSms}`, sharedSms)
  return { method, groups, sharedSms, downstreamSms }
}

function record(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(field, 'an object', value)
  return value as Record<string, unknown>
}

function count(value: unknown, field: string, low: number, high: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high)
    throw wrong(field, `a whole number from ${low} to ${high}`, value)
  return value
}

function wrong(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_GPU_LADDER_DESCRIPTION', 'not a ladder description', {
    field,
    expected,
    got,
    hint: 'Take what `describe()` of a ladder returns, unchanged',
  })
}
