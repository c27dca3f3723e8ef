/**
 * @module
 * What does importing the built package cost? Rows under `import`: median ms and heap over fresh processes, and an empty module beside.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const bench: Bench = {
  name: 'import-cost',
  question: 'what does `import "horizonserve"` cost?',
  async run({ quick }) {
    if (!existsSync(`${ROOT}dist/index.js`))
      return { import: { unavailable: 'build first: npm run build' } }
    const runs = quick ? 3 : 11
    return {
      import: {
        empty: measure('data:text/javascript,', runs),
        main: measure(`${ROOT}dist/index.js`, runs),
        core: measure(`${ROOT}dist/core/index.js`, runs),
      },
    }
  },
}

function measure(target: string, runs: number): { ms: number; heapKb: number; rssKb: number } {
  const script = `
    const before = process.memoryUsage(), start = performance.now()
    await import(${JSON.stringify(target)})
    const ms = performance.now() - start, after = process.memoryUsage()
    console.log(JSON.stringify([ms, (after.heapUsed - before.heapUsed) / 1024, (after.rss - before.rss) / 1024]))`
  const rows = Array.from(
    { length: runs },
    () =>
      JSON.parse(
        execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
      ) as number[],
  )
  const median = (at: number): number =>
    Number(
      rows
        .map((row) => row[at]!)
        .sort((a, b) => a - b)
        [runs >> 1]!.toFixed(1),
    )
  return { ms: median(0), heapKb: median(1), rssKb: median(2) }
}
