/**
 * @module
 * `horizonserve report`: draws what `simulate --json` or `load --json` printed as one self-contained HTML file.
 */
import { resolve } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { parseLoadResult, renderLoadReport } from '../../live/index.js'
import { parseReportData, renderReport } from '../../sim/index.js'
import { readChartLibrary } from '../chart-library.js'
import { type CliCommand, EXIT } from '../command.js'
import { readJson, writeText } from '../files.js'

export const command: CliCommand = {
  name: 'report',
  summary: 'turn the JSON of simulate, or of runs of load, into one self-contained HTML file',
  configure(command) {
    command
      .argument(
        '<results...>',
        'file that simulate --json wrote, or - for standard input; or files of load --json, side by side',
      )
      .option('--out <path>', 'where to write', 'horizonserve-report.html')
  },
  async run(args, options, io) {
    const files = args.map((from) => ({ from, value: readJson(from) }))
    const [first, ...others] = files as [(typeof files)[number], ...typeof files]
    const isLoad = (first.value as { kind?: unknown } | null)?.kind === 'horizonserve-load'
    const path = resolve(String(options.out))
    if (isLoad) {
      const runs = files.map(({ from, value }) => parseLoadResult(value, from))
      writeText(path, renderLoadReport(runs, readChartLibrary()))
    } else {
      const data = parseReportData(first.value, first.from)
      if (others.length > 0) {
        throw new HorizonError(
          'ERR_CLI_OPTION',
          'a simulation has its policies side by side already',
          {
            field: 'results',
            expected: 'one file of simulate --json, or several of load --json',
            got: others.map(({ from }) => from).join(', '),
          },
        )
      }
      writeText(path, renderReport(data, readChartLibrary()))
    }
    io.out(`report: ${path}\n`)
    return EXIT.ok
  },
}
