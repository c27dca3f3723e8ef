/**
 * @module
 * Reads the comma-separated kernel tables. They come from outside, so every fault names its file, line and column.
 */
import { HorizonError } from '../../core/errors.js'

/** One row: text cells where the column was asked for as text, numbers otherwise. */
export interface CsvTable {
  readonly rows: number
  /** A column of numbers. */
  number(name: string): Float64Array
  /** A column of text. */
  text(name: string): readonly string[]
}

/** Parses `source` (named `file` in errors) and checks that the columns exist. Extra columns are ignored. */
export function parseCsv(
  source: string,
  file: string,
  columns: { readonly numbers: readonly string[]; readonly texts: readonly string[] },
): CsvTable {
  const lines = source.split('\n')
  while (lines.length > 0 && lines[lines.length - 1]?.trim() === '') lines.pop()
  const header = (lines.shift() ?? '').trim().split(',')
  const where = new Map(header.map((name, index) => [name, index]))
  const numbers = new Map<string, Float64Array>()
  const texts = new Map<string, string[]>()
  for (const name of columns.numbers) numbers.set(name, new Float64Array(lines.length))
  for (const name of columns.texts) texts.set(name, new Array<string>(lines.length))
  for (const name of [...columns.numbers, ...columns.texts]) {
    if (!where.has(name)) {
      throw new HorizonError('ERR_SIM_TABLE', 'column missing', {
        field: `${file}:1`,
        expected: `a column "${name}"`,
        got: header.join(','),
      })
    }
  }
  const numberColumns = [...numbers].map(([name, cells]) => ({
    name,
    cells,
    at: where.get(name) as number,
  }))
  const textColumns = [...texts].map(([name, cells]) => ({ cells, at: where.get(name) as number }))
  lines.forEach((line, row) => {
    const cells = line.split(',')
    for (const column of numberColumns) {
      const cell = cells[column.at]
      const value = cell === undefined || cell.trim() === '' ? Number.NaN : Number(cell)
      if (!Number.isFinite(value)) {
        throw new HorizonError('ERR_SIM_TABLE', 'not a number', {
          field: `${file}:${row + 2} ${column.name}`,
          expected: 'a finite number',
          got: cell ?? 'nothing',
        })
      }
      column.cells[row] = value
    }
    for (const column of textColumns) column.cells[row] = (cells[column.at] ?? '').trim()
  })
  return {
    rows: lines.length,
    number: (name) => numbers.get(name) as Float64Array,
    text: (name) => texts.get(name) as string[],
  }
}
