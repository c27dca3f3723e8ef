/**
 * @module
 * Tables as spreadsheets and notebooks export them: comma, semicolon or tab between cells, quotes around them, decimal points or,
 * where the comma separates nothing, decimal commas.
 */
import { decimal } from './trace.js'

export interface CsvTable {
  /** Names of the columns, trimmed and in lower case. */
  readonly names: readonly string[]
  /** The cells of a line, trimmed, as many as there are names; or in words what is wrong with it. */
  cells(line: string): readonly string[] | string
  /** The number in a cell, NaN where there is none or where it cannot be told which is meant. */
  number(cell: string): number
  /** The same for a count, where `1.000` is not one but a thousand in the wrong clothes. */
  count(cell: string): number
}

const SEPARATORS = [',', ';', '\t'] as const

/** Reads the header; the separator is the one that it has most of, outside of quotes. */
export function csvTable(header: string): CsvTable {
  const bare = header.replace(/"(?:[^"]|"")*"/g, '')
  const counts = SEPARATORS.map((of) => bare.split(of).length)
  const separator = SEPARATORS[counts.indexOf(Math.max(...counts))] as string
  const first = split(header, separator)
  const names = (typeof first === 'string' ? [] : first).map((name) => name.toLowerCase())
  let hasCommas = false
  let hasPoints = false

  function number(cell: string): number {
    if (separator === ',') return decimal(cell)
    if (cell.includes(',')) {
      if (hasPoints) return Number.NaN
      hasCommas = true
      return decimal(cell.replace(',', '.'))
    }
    if (cell.includes('.')) {
      if (hasCommas) return Number.NaN
      hasPoints = true
    }
    return decimal(cell)
  }

  return {
    names,
    cells(line) {
      const cells = split(line, separator)
      if (typeof cells === 'string' || cells.length === names.length) return cells
      return `expected ${names.length} columns, got ${cells.length}`
    },
    number,
    count: (cell) =>
      separator !== ',' && /^\d{1,3}(\.\d{3})+$/.test(cell) ? Number.NaN : number(cell),
  }
}

function split(line: string, separator: string): string[] | string {
  if (!line.includes('"')) return line.split(separator).map((cell) => cell.trim())
  const cells: string[] = []
  let at = 0
  for (;;) {
    while (line[at] === ' ') at++
    if (line[at] === '"') {
      let text = ''
      for (at++; ; at++) {
        const close = line.indexOf('"', at)
        if (close === -1) return 'a quote is not closed'
        text += line.slice(at, close)
        at = close + 1
        if (line[at] !== '"') break
        text += '"'
      }
      while (line[at] === ' ' || (line[at] === '\t' && separator !== '\t')) at++
      if (at < line.length && line[at] !== separator) return 'a quote ends in the middle of a cell'
      cells.push(text.trim())
    } else {
      const end = line.indexOf(separator, at)
      const stop = end === -1 ? line.length : end
      cells.push(line.slice(at, stop).trim())
      at = stop
    }
    if (at >= line.length) return cells
    at += separator.length
  }
}
