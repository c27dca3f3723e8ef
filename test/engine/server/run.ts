/**
 * @module
 * `npm run test:server [-- --only words]`: the real servers of vLLM and vLLM-Omni 0.30.0 on CPUs, by the commands of docs/vllm-omni.md. Where
 * the environment cannot be installed it says so, with everything skipped; where it can, a case that does not run counts as failed.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { omniCases } from './cases-omni.js'
import { plainCases } from './cases-plain.js'
import { installServer } from './install.js'
import { endAll } from './processes.js'
import { makeBench } from './suite.js'

const at = process.argv.indexOf('--only')
const only = at < 0 ? '' : (process.argv[at + 1] ?? '')
const environment = installServer((text) => console.log(text))
if ('missing' in environment) {
  console.log(`server suite left out: ${environment.missing}`)
  console.log('0 passed, 0 failed, 1 skipped')
} else {
  const folder = mkdtempSync(join(tmpdir(), 'horizonserve-server-'))
  let passed = 0
  let failed = 0
  process.once('exit', endAll)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      endAll()
      process.exit(1)
    })
  try {
    const bench = makeBench(environment, folder)
    const groups = { plain: plainCases, omni: omniCases }
    for (const [name, cases] of Object.entries(groups)) {
      if (only !== '' && only !== name) continue
      let lost = ''
      for (const [number, each] of cases(bench).entries()) {
        const start = performance.now()
        const took = (): string => `${((performance.now() - start) / 1000).toFixed(1)} s`
        try {
          // Every case stands on the server of the one before.
          if (lost !== '') throw new Error(`not run: "${lost}" failed`)
          const said = await each.run()
          passed += 1
          console.log(`ok   ${each.name} (${took()})${said === undefined ? '' : `\n  ${said}`}`)
        } catch (error) {
          failed += 1
          if (number === 0 || /did not come up/.test(String(error))) lost ||= each.name
          console.log(
            `FAIL ${each.name} (${took()})\n${error instanceof Error ? error.message : String(error)}`,
          )
        }
      }
    }
  } finally {
    endAll()
    if (failed === 0) rmSync(folder, { recursive: true, force: true })
    else console.log(`logs: ${folder}`)
  }
  console.log(`${passed} passed, ${failed} failed, 0 skipped`)
  process.exitCode = failed === 0 ? 0 : 1
}
