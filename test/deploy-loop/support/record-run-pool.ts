/**
 * Records the pool of real runs that the gate's A/A trials draw from: the face-to-face example, streaming on one device, driven
 * again and again with nothing changed. The noise in it is the machine's own.
 *
 * `npx tsx test/deploy-loop/support/record-run-pool.ts FILE SECONDS` adds as many runs to FILE as fit into SECONDS, so that a
 * machine that is not free for long can be recorded in slices.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drive } from '../../../src/deploy/harness/drive.js'
import { type Fingerprint, fingerprint } from '../../../src/deploy/harness/fingerprint.js'
import { jsonLinesBackend } from '../../../src/deploy/harness/json-lines-backend.js'

const NUM_RUNS = 240
const REQUESTS_PER_RUN = 250
/** Holds a hundredth as long as the example's: what is left is mostly the machine. */
const SCALE = '0.01'
const WARM_UP_REQUESTS = 500

/** A recorded pool. `environments` has one entry per slice; `runs` are microseconds to first output, one array per run. */
interface Pool {
  readonly environments: Fingerprint[]
  readonly runs: number[][]
}

const [file, seconds] = process.argv.slice(2)
if (file === undefined || !(Number(seconds) > 0))
  throw new Error('usage: record-run-pool.ts FILE SECONDS')
const deadline = performance.now() + 1000 * Number(seconds)
const pool: Pool = existsSync(file)
  ? (JSON.parse(readFileSync(file, 'utf8')) as Pool)
  : { environments: [], runs: [] }
const started = fingerprint()
const folder = mkdtempSync(join(tmpdir(), 'run-pool-'))
cpSync(new URL('../../../examples/face-to-face/app/', import.meta.url), folder, { recursive: true })
writeFileSync(join(folder, 'deployment.json'), '{ "mode": "streaming", "devices": {} }')
const session = await jsonLinesBackend('face-to-face', {
  command: [process.execPath, 'serve.js'],
  cwd: folder,
  env: { FACE_TO_FACE_SCALE: SCALE },
}).open()
const script = [{ inputs: [{ atMs: 0, value: { audio: [0.2, 0.9, 0.4], chunks: 1 } }] }]
for (let i = 0; i < WARM_UP_REQUESTS; i++) await drive(session, script)
const before = pool.runs.length
while (pool.runs.length < NUM_RUNS && performance.now() < deadline) {
  const firstUs: number[] = []
  for (let request = 0; request < REQUESTS_PER_RUN; request++) {
    const [record] = await drive(session, script)
    firstUs.push(Math.round(1000 * record!.outputs[0]!.atMs))
  }
  pool.runs.push(firstUs)
}
await session.close()
rmSync(folder, { recursive: true })
// Pairs are neighbours in time: a slice ends with a whole pair.
if (pool.runs.length % 2 === 1) pool.runs.pop()
if (pool.runs.length > before) pool.environments.push(started)
const lines = pool.runs.map((run) => JSON.stringify(run)).join(',\n')
const head = `"unit": "us to first output", "environments": ${JSON.stringify(pool.environments)}`
writeFileSync(file, `{${head}, "runs": [\n${lines}\n]}\n`)
console.log(`${pool.runs.length} of ${NUM_RUNS} runs`)
