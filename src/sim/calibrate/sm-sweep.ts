/**
 * @module
 * A sweep of fixed shared-stage SM counts (paper, figure 4b), and the CSV it is kept in:
 * `sms,decode_tpot_ms,corun_ttft_ms,corun_pressure`.
 */
import { HorizonError } from '../../core/index.js'
import { decimal } from '../traces/trace.js'

export interface SmSweepRow {
  readonly sms: number
  /** Decode TPOT of the shared stage alone. */
  readonly decodeTpotMs: number
  /** First response of short requests while a downstream stage runs. */
  readonly corunTtftMs: number
  /** Pressure meanwhile, in [0, 1]. */
  readonly corunPressure: number
}

const HEADER = ['sms', 'decode_tpot_ms', 'corun_ttft_ms', 'corun_pressure'] as const

/** Rows by rising SM count. Throws `ERR_SIM_SWEEP_LINE` naming the line, or `ERR_SIM_SWEEP_FORMAT`. */
export function parseSmSweep(text: string, name: string): SmSweepRow[] {
  const lines = text.split(/\r?\n/)
  const header = (lines[0] ?? '').split(',').map((cell) => cell.trim().toLowerCase())
  if (HEADER.some((column) => !header.includes(column))) {
    throw new HorizonError('ERR_SIM_SWEEP_FORMAT', 'not an SM sweep', {
      field: name,
      expected: `a header with ${HEADER.join(', ')}`,
      got: lines[0],
    })
  }
  const rows: SmSweepRow[] = []
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === '') continue
    const cells = line.split(',')
    const at = (column: (typeof HEADER)[number]): number =>
      decimal((cells[header.indexOf(column)] ?? '').trim())
    const row: SmSweepRow = {
      sms: at('sms'),
      decodeTpotMs: at('decode_tpot_ms'),
      corunTtftMs: at('corun_ttft_ms'),
      corunPressure: at('corun_pressure'),
    }
    const problem = problemOf(row)
    if (problem === undefined) rows.push(row)
    else {
      throw new HorizonError('ERR_SIM_SWEEP_LINE', problem, {
        field: `${name}, line ${index + 1}`,
        got: line,
      })
    }
  }
  return rows.sort((a, b) => a.sms - b.sms)
}

export function formatSmSweep(rows: readonly SmSweepRow[]): string {
  const lines = rows.map(
    (row) => `${row.sms},${row.decodeTpotMs},${row.corunTtftMs},${row.corunPressure}`,
  )
  return `${[HEADER.join(','), ...lines].join('\n')}\n`
}

function problemOf(row: SmSweepRow): string | undefined {
  if (!(Number.isInteger(row.sms) && row.sms > 0)) return 'sms must be a whole number above 0'
  if (!(row.decodeTpotMs > 0)) return 'decode_tpot_ms must be a number above 0'
  if (!(row.corunTtftMs > 0)) return 'corun_ttft_ms must be a number above 0'
  if (!(row.corunPressure >= 0 && row.corunPressure <= 1)) return 'corun_pressure must be in [0, 1]'
  return undefined
}
