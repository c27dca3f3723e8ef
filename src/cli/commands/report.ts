/**
 * @module
 * `horizonserve report`: draws what `simulate --json` printed as one self-contained HTML file.
 */
import { resolve } from 'node:path'
import { parseReportData, renderReport } from '../../sim/index.js'
import { readChartLibrary } from '../chart-library.js'
import { type CliCommand, EXIT } from '../command.js'
import { readJson, writeText } from '../files.js'

export const command: CliCommand = {
  name: 'report',
  summary: 'turn the JSON of simulate into one self-contained HTML file',
  configure(command) {
    command
      .argument('<result>', 'file that simulate --json wrote, or - for standard input')
      .option('--out <path>', 'where to write', 'horizonserve-report.html')
  },
  async run(args, options, io) {
    const from = args[0] as string
    const data = parseReportData(readJson(from), from)
    const path = resolve(String(options.out))
    writeText(path, renderReport(data, readChartLibrary()))
    io.out(`report: ${path}\n`)
    return EXIT.ok
  },
}
