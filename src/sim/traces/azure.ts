/**
 * @module
 * The Azure LLM inference traces of 2023 (code and conversation): `TIMESTAMP,ContextTokens,GeneratedTokens`, the time as a
 * calendar date without a zone and with up to seven decimals. Patel et al., Splitwise, ISCA 2024; CC-BY-4.0.
 */
import { decimal, type TraceFormat } from './trace.js'

const DATE = /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?$/

export const azure: TraceFormat = {
  name: 'azure',
  notes: ['Azure LLM inference trace 2023 (Patel et al., Splitwise, ISCA 2024), CC-BY-4.0'],
  matches: (firstLine) =>
    firstLine.trim().toLowerCase() === 'timestamp,contexttokens,generatedtokens',
  start: () => ({
    hasHeader: true,
    parse(line) {
      const cells = line.split(',')
      if (cells.length !== 3) return `expected 3 columns, got ${cells.length}`
      const timeMs = naiveDateMs(cells[0]?.trim() ?? '')
      if (Number.isNaN(timeMs)) return `not a time like 2023-11-16 18:15:46.6805900: ${cells[0]}`
      const promptTokens = decimal(cells[1]?.trim() ?? '')
      const outputTokens = decimal(cells[2]?.trim() ?? '')
      return { timeMs, promptTokens, outputTokens }
    },
  }),
}

/** Milliseconds since 1970 of a date taken as UTC, its fraction kept beyond the millisecond; NaN if it is no date. */
function naiveDateMs(text: string): number {
  const parts = DATE.exec(text)
  if (parts === null) return Number.NaN
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) return Number.NaN
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
  // Date.UTC lets the 31st of February roll over; a trace must not.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return Number.NaN
  return date.getTime() + Number(parts[7] ?? 0) * 1000
}
