/**
 * @module
 * Our own two formats, for traces of any origin. CSV with a header, or JSON lines, of
 * `arrival_ms` (or `arrival_s`), `prompt_tokens`, `output_tokens`, and optionally `class`, `audio_seconds`, `images`, `videos`;
 * JSON lines may write the names in camel case. Columns may stand in any order; an unknown one is an error, not ignored.
 */
import { HorizonError } from '../../core/errors.js'
import { csvTable } from './csv-table.js'
import { excerpt } from './excerpt.js'
import { parseRecord } from './parse-record.js'
import type { LineParser, TraceFormat, TraceRow } from './trace.js'

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

/** Seconds since 1970 reach this in the year 5138: what is larger is in milliseconds. */
const NO_SECONDS = 1e11

/** Whole numbers further apart than this on average, in seconds, may be milliseconds. */
const DOUBTFUL_GAP_S = 10

/** Requests per second under which times in milliseconds are believed. */
const DOUBTFUL_RATE = 1000

export const plainCsv: TraceFormat = {
  name: 'plain-csv',
  notes: NOTES,
  takesUnit: false,
  matches: (firstLine) => csvTable(firstLine).names.some((name) => /^arrival_m?s$/.test(name)),
  start(firstLine) {
    const table = csvTable(firstLine)
    const columns = table.names.map((name) => knownColumn(name))
    for (const name of ['prompt_tokens', 'output_tokens'] as const) {
      if (!columns.includes(name)) {
        throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'a column is missing', { field: name })
      }
    }
    const twice = columns.find((name, i) => columns.indexOf(name) !== i)
    if (twice !== undefined) {
      throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'a column stands twice in the header', {
        field: twice,
      })
    }
    const clock = createClock()
    return {
      hasHeader: true,
      parse(line) {
        const cells = table.cells(line)
        if (typeof cells === 'string') return cells
        const values = new Map<Column, unknown>()
        for (const [i, name] of columns.entries()) {
          const cell = cells[i] as string
          if (cell === '') continue
          values.set(name, name === 'class' ? cell : read(table, name, cell))
        }
        return clock.toRow(values)
      },
      doubts: clock.doubts,
    }
  },
}

function read(table: ReturnType<typeof csvTable>, name: Column, cell: string): number {
  return name.startsWith('arrival') || name === 'audio_seconds'
    ? table.number(cell)
    : table.count(cell)
}

export const plainJsonl: TraceFormat = {
  name: 'plain-jsonl',
  notes: NOTES,
  takesUnit: false,
  matches: (firstLine) => /^\{.*"arrival(_ms|_s|Ms|S)"/.test(firstLine),
  start() {
    const clock = createClock()
    return {
      hasHeader: false,
      parse(line) {
        const row = parseRecord(line)
        if (typeof row === 'string') return row
        const values = new Map<Column, unknown>()
        for (const [key, value] of Object.entries(row)) {
          const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
          if (!isColumn(name)) return `unknown field ${excerpt(key)}`
          values.set(name, value)
        }
        return clock.toRow(values)
      },
      doubts: clock.doubts,
    }
  },
}

/** Rows from named values, with an eye on whether their times can be in the unit that their name says. */
function createClock(): {
  toRow(values: ReadonlyMap<Column, unknown>): TraceRow | string
  readonly doubts: NonNullable<LineParser['doubts']>
} {
  let inSeconds = false
  let isWhole = true
  return {
    toRow(values) {
      const stamp = values.get('arrival_s')
      if (typeof stamp === 'number') {
        inSeconds = true
        isWhole &&= Number.isInteger(stamp)
        if (Math.abs(stamp) >= NO_SECONDS) {
          return `arrival_s ${stamp} is in milliseconds, it seems: name the column arrival_ms`
        }
      }
      return toRow(values)
    },
    doubts(arrivalMs) {
      const gaps = arrivalMs.length - 1
      const spanS = (arrivalMs.at(-1) as number) / 1000
      if (inSeconds && isWhole && gaps > 0 && spanS / gaps >= DOUBTFUL_GAP_S) {
        return [
          `arrival_s holds whole numbers, ${(spanS / gaps).toFixed(0)} s apart on average: if they are milliseconds, name the column arrival_ms`,
        ]
      }
      if (!inSeconds && gaps / spanS > DOUBTFUL_RATE) {
        return [
          `arrival_ms gives ${(gaps / spanS).toFixed(0)} requests per second: if it holds seconds, name the column arrival_s`,
        ]
      }
      return []
    },
  }
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

function isColumn(name: string): name is Column {
  return (COLUMNS as readonly string[]).includes(name)
}

function knownColumn(name: string): Column {
  if (isColumn(name)) return name
  throw new HorizonError('ERR_SIM_TRACE_FORMAT', 'unknown column in the header', {
    expected: COLUMNS.join(', '),
    got: excerpt(name),
  })
}
