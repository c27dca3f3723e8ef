import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
import { CHROMIUM_ARGS, chromiumPath } from '../support/chromium.js'

const PROGRAM = `
import { createHorizon, wrap } from './src/index.ts'
import { createScheduler, bucketOf } from './src/core/index.ts'
import { generateWorkload, mixByLongFraction, omniSpec, parseTrace, readTrace, simulateQueue } from './src/sim/index.ts'

const horizon = createHorizon({
  classes: { chat: { output: 'text', sloMs: 400 } },
  profile: { chat: { shared: { promptTokens: [[0, 15], [4000, 160]] } } },
})
const queue = [horizon.arrive({ class: 'chat', promptTokens: 100 }, 1)]
const engine = {
  waiting: { take: () => queue.splice(0), put: (items) => void queue.push(...items) },
  schedule: () => queue.splice(0),
}
const batch = wrap(engine, horizon, { handleOf: (handle) => handle }).step(2)
let unavailable = ''
try { readTrace('x.csv') } catch (error) { unavailable = error.code }
const spec = omniSpec('rtx-6000-ada', 'bagel')
const workload = generateWorkload({ spec, mix: mixByLongFraction(spec.classes, 0.3), rate: 1, extent: { requests: 20 }, seed: 1 })
globalThis.result = JSON.stringify({
  batch: batch.length,
  core: [typeof createScheduler, bucketOf(1) > 0],
  trace: parseTrace('arrival_s,prompt_tokens,output_tokens\\n0,1,1\\n1,1,1', 't').size,
  workload: workload.size,
  unavailable,
})
`

const bundle = (platform: 'browser') =>
  build({
    stdin: { contents: PROGRAM, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform,
    format: 'iife',
    write: false,
    logLevel: 'silent',
  })

test.skipIf(chromiumPath === undefined)(
  'main entry, wrap, core and simulator run in Chromium (skipped where none is installed)',
  async () => {
    // A Node module anywhere in the graph would be an error of the bundler.
    const { outputFiles } = await bundle('browser')
    const folder = mkdtempSync(join(tmpdir(), 'horizonserve-browser-'))
    const page = join(folder, 'page.html')
    const script = outputFiles[0]!.text.replaceAll('</script', '<\\/script')
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><script>${script}</script>`)
    const context = await chromium.launchPersistentContext(join(folder, 'profile'), {
      executablePath: chromiumPath as string,
      args: CHROMIUM_ARGS,
      offline: true,
    })
    try {
      const tab = await context.newPage()
      const complaints: string[] = []
      tab.on('pageerror', (error) => complaints.push(error.message))
      await tab.goto(`file://${page}`)
      const result = JSON.parse((await tab.evaluate('globalThis.result')) as string) as unknown
      expect(complaints).toEqual([])
      expect(result).toEqual({
        batch: 1,
        core: ['function', true],
        trace: 2,
        workload: 20,
        unavailable: 'ERR_SIM_NODE_UNAVAILABLE',
      })
    } finally {
      await context.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
