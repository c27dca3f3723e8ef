/**
 * @module
 * BurstGPT: seconds, names with blanks, later releases with a session and an elapsed time. A request with 0 response tokens failed:
 * it is left out and counted. Wang et al., KDD 2025; CC-BY-4.0.
 */
import { csvTable } from './csv-table.js'
import type { TraceFormat } from './trace.js'

const COLUMNS = ['timestamp', 'request tokens', 'response tokens']

export const burstGpt: TraceFormat = {
  name: 'burstgpt',
  notes: ['BurstGPT trace (Wang et al., KDD 2025), CC-BY-4.0'],
  takesUnit: true,
  matches(firstLine) {
    const { names } = csvTable(firstLine)
    return COLUMNS.every((name) => names.includes(name))
  },
  start(firstLine, unit = 's') {
    const table = csvTable(firstLine)
    const [time, prompt, output] = COLUMNS.map((name) => table.names.indexOf(name)) as [
      number,
      number,
      number,
    ]
    const toMs = unit === 's' ? 1000 : 1
    let failed = 0
    return {
      hasHeader: true,
      parse(line) {
        const cells = table.cells(line)
        if (typeof cells === 'string') return cells
        const outputTokens = table.count(cells[output] as string)
        const timeMs = table.number(cells[time] as string) * toMs
        if (outputTokens === 0 && Number.isFinite(timeMs)) {
          failed += 1
          return undefined
        }
        return { timeMs, promptTokens: table.count(cells[prompt] as string), outputTokens }
      },
      notes: () =>
        failed === 0 ? [] : [`left out: ${failed} (failed requests, with 0 response tokens)`],
    }
  },
}
