/**
 * @module
 * The sweep's table: what `sweep` writes and `calibrate` reads. One line per SM count, the same columns whether synthetic stages on
 * the GPU or a real engine was measured; a cell that was not measured is empty.
 */
import { HorizonError } from '../core/errors.js'

/** One SM count of the shared stage and what was measured there. */
export interface SweepRecord {
  /** SMs of the shared stage. */
  readonly sms: number
  /** `co-running`, `aggressive` or `off` (the whole device without a partition). */
  readonly kind: string
  readonly downstreamSms: number
  /** Time per output token (a decode step) of the shared stage alone, ms: median and 95th percentile. */
  readonly tpotMs: number
  readonly tpotP95Ms: number
  /** The same while the downstream stage runs. */
  readonly coRunTpotMs: number
  readonly coRunTpotP95Ms: number
  /** First response of a short request while a long one co-runs, ms; real engines only. */
  readonly coRunTtftMs: number
  readonly coRunTtftP95Ms: number
  /** A step of the downstream stage alone and co-running, ms; synthetic stages only. */
  readonly downstreamMs: number
  readonly coRunDownstreamMs: number
  /** Bandwidth that the shared stage achieves alone and co-running, GB/s (1e9); synthetic stages only. */
  readonly gbPerSec: number
  readonly coRunGbPerSec: number
  /** Pressure while co-running, in [0, 1], and its kind. */
  readonly pressure: number
  readonly pressureKind: string
}

/** The columns, in order. */
export const SWEEP_COLUMNS = Object.freeze([
  'sms',
  'kind',
  'downstreamSms',
  'tpotMs',
  'tpotP95Ms',
  'coRunTpotMs',
  'coRunTpotP95Ms',
  'coRunTtftMs',
  'coRunTtftP95Ms',
  'downstreamMs',
  'coRunDownstreamMs',
  'gbPerSec',
  'coRunGbPerSec',
  'pressure',
  'pressureKind',
] as const satisfies readonly (keyof SweepRecord)[])

const TEXT_COLUMNS: ReadonlySet<string> = new Set(['kind', 'pressureKind'])

/** A record with nothing measured yet. */
export function emptyRecord(sms: number, kind: string, downstreamSms: number): SweepRecord {
  const none = Number.NaN
  return {
    ...{ sms, kind, downstreamSms, tpotMs: none, tpotP95Ms: none, coRunTpotMs: none },
    ...{ coRunTpotP95Ms: none, coRunTtftMs: none, coRunTtftP95Ms: none, downstreamMs: none },
    ...{ coRunDownstreamMs: none, gbPerSec: none, coRunGbPerSec: none, pressure: none },
    pressureKind: '',
  }
}

/** The table as text. `comments` say where the numbers are from; each becomes a line that starts with `#`. */
export function formatSweepCsv(
  records: readonly SweepRecord[],
  comments: readonly string[],
): string {
  const cell = (value: string | number): string => {
    if (typeof value === 'string') return value.replaceAll(/[",\n\r]/g, ' ')
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : ''
  }
  const lines = [
    ...comments.map((comment) => `# ${comment.replaceAll(/[\r\n]+/g, ' ')}`),
    SWEEP_COLUMNS.join(','),
    ...records.map((record) => SWEEP_COLUMNS.map((column) => cell(record[column])).join(',')),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * Reads the table. Unknown columns are ignored, missing ones but `sms` and `tpotMs` read as not measured.
 * @throws `ERR_GPU_SWEEP_CSV` naming the line
 */
export function parseSweepCsv(text: string): SweepRecord[] {
  const records: SweepRecord[] = []
  let header: string[] | undefined
  for (const [i, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    const cells = line.split(',').map((cell) => cell.trim())
    if (header === undefined) {
      header = cells
      for (const needed of ['sms', 'tpotMs'])
        if (!header.includes(needed)) throw wrong(i, `a column ${needed}`, line)
      continue
    }
    if (cells.length !== header.length) throw wrong(i, `${header.length} cells`, cells.length)
    records.push(parseRecord(header, cells, i))
  }
  if (header === undefined) throw wrong(0, 'a header line', 'none')
  if (records.length === 0) throw wrong(0, 'at least one line of numbers', 'none')
  return records
}

function parseRecord(
  header: readonly string[],
  cells: readonly string[],
  line: number,
): SweepRecord {
  const record: Record<string, unknown> = { ...emptyRecord(0, 'co-running', Number.NaN) }
  for (const column of SWEEP_COLUMNS) {
    const cell = cells[header.indexOf(column)]
    if (cell === undefined) continue
    if (TEXT_COLUMNS.has(column)) {
      record[column] = cell
      continue
    }
    const value = cell === '' ? Number.NaN : Number(cell)
    if (cell !== '' && !(Number.isFinite(value) && value >= 0))
      throw wrong(line, `${column} to be a number of at least 0`, cell)
    record[column] = value
  }
  if (!Number.isInteger(record.sms) || (record.sms as number) < 1)
    throw wrong(line, 'sms to be a whole number above 0', cells[header.indexOf('sms')])
  return record as unknown as SweepRecord
}

function wrong(line: number, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_GPU_SWEEP_CSV', 'not a sweep table', {
    field: `line ${line + 1}`,
    expected,
    got,
    hint: 'Take what `horizonserve sweep` writes',
  })
}
