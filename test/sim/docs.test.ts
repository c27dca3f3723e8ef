import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'

/** The snippet of docs/simulator.md runs as it stands, its import pointed at the sources. */
test('the snippet in docs/simulator.md runs', async () => {
  const text = readFileSync('docs/simulator.md', 'utf8')
  const snippet = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const folder = mkdtempSync(join('test', 'sim', '.snippet-'))
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    const path = join(folder, 'snippet.ts')
    writeFileSync(path, snippet.replace("'horizonserve/sim'", "'../../../src/sim/index.js'"))
    await import(pathToFileURL(path).href)
    expect(log.mock.calls.map((call) => call[0])).toEqual(['vanilla', 'horizonserve'])
    for (const [, attainment] of log.mock.calls) expect(attainment).toBeGreaterThan(0)
  } finally {
    log.mockRestore()
    rmSync(folder, { recursive: true, force: true })
  }
})
