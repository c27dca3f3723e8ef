/**
 * @module
 * The sweep's table: what `sweep` writes and `calibrate` reads. One line per SM count, the same columns whether synthetic stages on
 * the GPU or a real engine was measured; a cell that was not measured is empty.
 */

/** One SM count of the shared stage and what was measured there; `NaN` is not measured. */
export interface SweepRecord {
  /** SMs of the shared stage. */
  readonly sms: number
  /** `co-running`, `aggressive` or `off` (the whole device without a partition, for both stages). */
  readonly kind: string
  readonly downstreamSms: number
  /** Time per output token (a decode step) of the shared stage alone, ms: median and 95th percentile. */
  readonly tpotMs: number
  readonly tpotP95Ms: number
  /** The same while the downstream stage runs; synthetic stages only. */
  readonly coRunTpotMs: number
  readonly coRunTpotP95Ms: number
  /** First response of a short request while a long one co-runs, ms. Synthetic stages: a co-running step stands in for it. */
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

/** Columns by name, the four that `calibrate` needs first. */
const COLUMNS = Object.freeze({
  sms: 'sms',
  decode_tpot_ms: 'tpotMs',
  corun_ttft_ms: 'coRunTtftMs',
  corun_pressure: 'pressure',
  pressure_kind: 'pressureKind',
  kind: 'kind',
  downstream_sms: 'downstreamSms',
  decode_tpot_p95_ms: 'tpotP95Ms',
  corun_tpot_ms: 'coRunTpotMs',
  corun_tpot_p95_ms: 'coRunTpotP95Ms',
  corun_ttft_p95_ms: 'coRunTtftP95Ms',
  downstream_ms: 'downstreamMs',
  corun_downstream_ms: 'coRunDownstreamMs',
  gb_per_sec: 'gbPerSec',
  corun_gb_per_sec: 'coRunGbPerSec',
} as const satisfies Record<string, keyof SweepRecord>)

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

/** The table as text, its header first. */
export function formatSweepCsv(records: readonly SweepRecord[]): string {
  const cell = (value: string | number): string => {
    if (typeof value === 'string') return value.replaceAll(/[",\n\r]/g, ' ')
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : ''
  }
  const fields = Object.values(COLUMNS)
  const lines = records.map((record) => fields.map((field) => cell(record[field])).join(','))
  return `${[Object.keys(COLUMNS).join(','), ...lines].join('\n')}\n`
}
