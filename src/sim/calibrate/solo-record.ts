/**
 * @module
 * What one request took alone on the GPU, and the JSON lines such records are kept in: one object per line,
 * `{"class","promptTokens","audioSeconds","images","videos","sharedMs","downstreamMs","downstreamBusyMs","firstResponseMs"}`.
 */
import { HorizonError } from '../../core/index.js'
import { parseRecord } from '../traces/parse-record.js'

export interface SoloRecord {
  readonly class: string
  readonly promptTokens: number
  readonly audioSeconds: number
  readonly images: number
  readonly videos: number
  /** Shared stage: to the first token (short path) or to the hand-over (long path). */
  readonly sharedMs: number
  /** Downstream stage up to the first response, and as long as the request occupies it; 0 on the short path. */
  readonly downstreamMs: number
  readonly downstreamBusyMs: number
  readonly firstResponseMs: number
}

const OPTIONAL = ['promptTokens', 'audioSeconds', 'images', 'videos', 'downstreamMs'] as const

/** Parses JSON lines; `name` stands in messages. Throws `ERR_SIM_SOLO_LINE` naming the line, or `ERR_SIM_SOLO_EMPTY`. */
export function parseSoloRecords(text: string, name: string): SoloRecord[] {
  const records: SoloRecord[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const row = parseRecord(line)
    const record = typeof row === 'string' ? row : toSoloRecord(row)
    if (typeof record === 'string') {
      throw new HorizonError('ERR_SIM_SOLO_LINE', record, {
        field: `${name}, line ${index + 1}`,
        got: line,
      })
    }
    records.push(record)
  }
  if (records.length === 0) {
    throw new HorizonError('ERR_SIM_SOLO_EMPTY', 'no solo latencies', { field: name })
  }
  return records
}

export function formatSoloRecords(records: readonly SoloRecord[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('')
}

function toSoloRecord(row: Record<string, unknown>): SoloRecord | string {
  if (typeof row.class !== 'string' || row.class === '') return 'class must be a name'
  const numbers: Record<string, number> = {}
  for (const name of ['sharedMs', 'firstResponseMs'] as const) {
    if (!isAmount(row[name])) return `${name} must be a number of ms, at least 0`
    numbers[name] = row[name]
  }
  for (const name of OPTIONAL) {
    const value = row[name] ?? 0
    if (!isAmount(value)) return `${name} must be a number of at least 0`
    numbers[name] = value
  }
  const busy = row.downstreamBusyMs ?? numbers.downstreamMs
  if (!isAmount(busy)) return 'downstreamBusyMs must be a number of ms, at least 0'
  return { class: row.class, ...numbers, downstreamBusyMs: busy } as SoloRecord
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}
