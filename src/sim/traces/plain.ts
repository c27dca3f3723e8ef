/**
 * @module
 * Our own two formats, for traces of any origin. CSV with a header, or JSON lines, of
 * `arrival_ms` (or `arrival_s`), `prompt_tokens`, `output_tokens`, and optionally `class`, `audio_seconds`, `images`, `videos`;
 * JSON lines may write the names in camel case. Columns may stand in any order; an unknown one is an error, not ignored.
 */
import { HorizonError } from '../../core/errors.js'
import { parseRecord } from './parse-record.js'
import { decimal, type TraceFormat, type TraceRow } from './trace.js'

const COLUMNS = [
  'arrival_ms',
  'arrival_s',
  'prompt_tokens',
  'output_tokens',
  'class',
  'audio_seconds',
  'images',
  'videos',
] as const
type Column = (typeof COLUMNS)[number]

const NOTES = ['plain trace']

export const plainCsv: TraceFormat = {
  name: 'plain-csv',
  notes: NOTES,
  matches: (firstLine) => headerOf(firstLine).some((name) => name.startsWith('arrival_')),
  start(firstLine) {
    const columns = headerOf(firstLine).map((name) => knownColumn(name))
    for (const name of ['prompt_tokens', 'output_tokens'] as const) {
      if (!columns.includes(name)) {
        throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'a column is missing', { field: name })
      }
    }
    return {
      hasHeader: true,
      parse(line) {
        const cells = line.split(',')
        if (cells.length !== columns.length) {
          return `expected ${columns.length} columns, got ${cells.length}`
        }
        const values = new Map<Column, unknown>()
        for (const [i, name] of columns.entries()) {
          const cell = (cells[i] ?? '').trim()
          if (cell === '') continue
          values.set(name, name === 'class' ? cell : decimal(cell))
        }
        return toRow(values)
      },
    }
  },
}

export const plainJsonl: TraceFormat = {
  name: 'plain-jsonl',
  notes: NOTES,
  matches: (firstLine) => /^\{.*"arrival(_ms|_s|Ms|S)"/.test(firstLine),
  start: () => ({
    hasHeader: false,
    parse(line) {
      const row = parseRecord(line)
      if (typeof row === 'string') return row
      const values = new Map<Column, unknown>()
      for (const [key, value] of Object.entries(row)) {
        const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        if (!isColumn(name)) return `unknown field ${key}`
        values.set(name, value)
      }
      return toRow(values)
    },
  }),
}

function toRow(values: ReadonlyMap<Column, unknown>): TraceRow | string {
  for (const [name, value] of values) {
    const wanted = name === 'class' ? 'string' : 'number'
    if (typeof value !== wanted) return `${name} must be a ${wanted}`
  }
  const number = (name: Column): number | undefined => values.get(name) as number | undefined
  const seconds = number('arrival_s')
  const timeMs = number('arrival_ms') ?? (seconds === undefined ? undefined : seconds * 1000)
  if (timeMs === undefined) return 'arrival_ms is missing'
  return {
    timeMs,
    promptTokens: number('prompt_tokens') ?? Number.NaN,
    outputTokens: number('output_tokens') ?? Number.NaN,
    className: values.get('class') as string | undefined,
    audioSeconds: number('audio_seconds'),
    images: number('images'),
    videos: number('videos'),
  }
}

function headerOf(firstLine: string): string[] {
  return firstLine.split(',').map((name) => name.trim().toLowerCase())
}

function isColumn(name: string): name is Column {
  return (COLUMNS as readonly string[]).includes(name)
}

function knownColumn(name: string): Column {
  if (isColumn(name)) return name
  throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'unknown column in the header', {
    expected: COLUMNS.join(', '),
    got: name,
  })
}
