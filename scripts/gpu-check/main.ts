/**
 * @module
 * The Node side of `scripts/gpu-check.sh`, one bundled file: `checks`, `side` and `report`. Exit code 1: something failed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { initCuda, openCuda } from '../../src/gpu/cuda.js'
import { openDevice } from '../../src/gpu/device.js'
import { createGpuStages } from '../../src/gpu/gpu-stages.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import { parseLadderDescription } from '../../src/gpu/ladder-description.js'
import { spreadLevels } from '../../src/gpu/ladder-plan.js'
import type { Check, CheckContext, CheckResult } from './check.js'
import { counts, creation, smIdentity, switching } from './ladder-checks.js'
import { pressureChecks } from './pressure-checks.js'
import { writeReport } from './report.js'
import { sweep } from './sweep-check.js'
import { runSide } from './two-process.js'

const CHECKS: readonly Check[] = [counts, smIdentity, switching, creation, ...pressureChecks, sweep]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: '.' },
    quick: { type: 'boolean', default: false },
    side: { type: 'string' },
    file: { type: 'string' },
    meeting: { type: 'string' },
  },
})
const out = values.out
const quick = values.quick

/** Every check on one device; a check that throws has failed, and the next one runs. */
function runChecks(): number {
  const cuda = openCuda()
  initCuda(cuda)
  const device = openDevice(cuda)
  writeJson('environment.json', {
    device: device.name,
    uuid: device.uuid,
    computeCapability: `${device.ccMajor}.${device.ccMinor}`,
    numSms: device.numSms,
    cudaVersion: cuda.version,
    missing: cuda.missing,
    node: process.version,
    double: process.env.HORIZON_DOUBLE !== undefined,
  })
  const ladder = createGreenContextLadder(cuda, device, { levels: spreadLevels(device.numSms, 5) })
  writeJson('description.json', ladder.describe())
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
  const stages = createGpuStages(cuda, device, ladder.stream(ladder.offIndex, 'shared'))
  const context: CheckContext = { cuda, device, ladder, stages, quick }
  const results: (CheckResult & { name: string; tookMs: number })[] = []
  for (const check of CHECKS) {
    const start = performance.now()
    let result: CheckResult
    try {
      result = check.run(context)
    } catch (error) {
      result = {
        failed: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
        values: {},
      }
    }
    const tookMs = Math.round(performance.now() - start)
    results.push({ name: check.name, ...result, tookMs })
    console.error(
      `${check.name}: ${result.failed.join('; ') || result.skipped || 'ok'} (${tookMs} ms)`,
    )
    // Written after every check: what was measured survives a crash in the next one.
    writeJson('checks.json', { checks: results })
  }
  stages.close()
  ladder.close()
  return results.some((result) => result.failed.length > 0) ? 1 : 0
}

function runOneSide(): number {
  if (values.side !== 'shared' && values.side !== 'downstream')
    throw new Error('--side shared|downstream')
  const description = parseLadderDescription(
    JSON.parse(readFileSync(join(out, 'description.json'), 'utf8')),
  )
  const report = runSide({
    description,
    side: values.side,
    rowMs: quick ? 50 : 500,
    ...(values.meeting === undefined ? {} : { meeting: values.meeting }),
  })
  writeJson(values.file ?? `${values.side}.json`, report)
  return 0
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(join(out, file), `${JSON.stringify(value)}\n`)
}

function report(): number {
  const { failed, text } = writeReport(out)
  console.log(text)
  return failed > 0 ? 1 : 0
}

const run: Readonly<Record<string, () => number>> = { checks: runChecks, side: runOneSide, report }
const command = run[positionals[0] ?? '']
if (command === undefined) throw new Error('checks | side | report')
process.exitCode = command()
