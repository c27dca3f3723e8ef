/**
 * @module
 * The Azure LLM inference traces: `TIMESTAMP,ContextTokens,GeneratedTokens` of 2023 (code and conversation; no zone, seven decimals)
 * and 2024 (weeks; `+00:00`, some stamps without a fraction), and with `NumImages` the multimodal one of 2025. CC-BY-4.0.
 */
import { calendarMs, hasZone } from './calendar-time.js'
import { csvTable } from './csv-table.js'
import { excerpt } from './excerpt.js'
import type { TraceFormat } from './trace.js'

const COLUMNS = ['timestamp', 'contexttokens', 'generatedtokens']

export const azure: TraceFormat = {
  name: 'azure',
  notes: [
    'Azure LLM inference trace (Patel et al., Splitwise, ISCA 2024, and its successors), CC-BY-4.0',
  ],
  takesUnit: false,
  matches(firstLine) {
    const { names } = csvTable(firstLine)
    return (
      COLUMNS.every((name) => names.includes(name)) &&
      names.every((name) => name === 'numimages' || COLUMNS.includes(name))
    )
  },
  start(firstLine) {
    const table = csvTable(firstLine)
    const [time, prompt, output, images] = [...COLUMNS, 'numimages'].map((name) =>
      table.names.indexOf(name),
    ) as [number, number, number, number]
    let zoned: boolean | undefined
    return {
      hasHeader: true,
      parse(line) {
        const cells = table.cells(line)
        if (typeof cells === 'string') return cells
        const stamp = cells[time] as string
        const timeMs = calendarMs(stamp)
        if (Number.isNaN(timeMs)) {
          return `not a time like 2023-11-16 18:15:46.6805900: ${excerpt(stamp)}`
        }
        zoned ??= hasZone(stamp)
        if (zoned !== hasZone(stamp)) return 'some times have a zone and some have none'
        return {
          timeMs,
          promptTokens: table.count(cells[prompt] as string),
          outputTokens: table.count(cells[output] as string),
          images: images === -1 ? 0 : table.count(cells[images] as string),
        }
      },
    }
  },
}
