/**
 * @module
 * `npm run test:engine [-- --only name,…]`: the suite on the real vLLM and vLLM-Omni. Where pip cannot reach its index it says so and
 * succeeds with nothing run.
 */
import { spawnSync } from 'node:child_process'
import { bundleController } from './bundle.js'
import { installEngine } from './install.js'

const installed = installEngine((text) => console.log(text))
if ('missing' in installed) {
  console.log(`engine suite left out: ${installed.missing}`)
  console.log('0 passed, 0 failed, 1 skipped')
} else {
  await bundleController('out/engine')
  const { status } = spawnSync(
    installed.python,
    ['test/engine/suite.py', ...process.argv.slice(2)],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  process.exitCode = status ?? 1
}
