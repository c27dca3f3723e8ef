/**
 * @module
 * Finds the source of Chart.js for a report: the copy that the package ships, or in a checkout the installed one.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HorizonError } from '../core/index.js'

const FILE = 'chart.umd.min.js'

/** Throws `ERR_CLI_CHART_LIBRARY_UNAVAILABLE`. */
export function readChartLibrary(): string {
  for (const path of candidates()) if (existsSync(path)) return readFileSync(path, 'utf8')
  throw new HorizonError('ERR_CLI_CHART_LIBRARY_UNAVAILABLE', 'the chart library is missing', {
    field: `dist/vendor/${FILE}`,
    hint: 'Build the package, or install chart.js',
  })
}

function* candidates(): Generator<string> {
  // Bundled files lie at different depths below dist/.
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let up = 0; up < 4; up++) {
    yield join(folder, 'vendor', FILE)
    folder = dirname(folder)
  }
  try {
    const require = createRequire(import.meta.url)
    yield join(dirname(require.resolve('chart.js')), FILE)
  } catch {
    // Not installed: only the shipped copy counts.
  }
}
