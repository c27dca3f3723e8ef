/**
 * Records the pool of real runs that the gate's A/A trials draw from: one unchanging program, driven again and again on a
 * machine that does other things too. `npx tsx test/deploy-loop/support/record-run-pool.ts` rewrites `golden/run-pool.json`;
 * the noise in it is the machine's own.
 */
import { writeFileSync } from 'node:fs'
import { drive } from '../../../src/deploy/harness/drive.js'
import { fingerprint } from '../../../src/deploy/harness/fingerprint.js'
import { jsonLinesBackend } from '../../../src/deploy/harness/json-lines-backend.js'

const NUM_RUNS = 200
const REQUESTS_PER_RUN = 120

/** Answers each request with three outputs, each after hashing for a while. */
const PROGRAM = `
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
const block = Buffer.alloc(1 << 19, 7)
console.log(JSON.stringify({ ready: true }))
for await (const line of createInterface({ input: process.stdin })) {
  const { id, end } = JSON.parse(line)
  if (!end) continue
  for (let k = 0; k < 3; k++) {
    createHash('sha256').update(block).update(block).digest()
    console.log(JSON.stringify({ id, output: k }))
    await new Promise((resolve) => setImmediate(resolve))
  }
  console.log(JSON.stringify({ id, done: true }))
}
`

const backend = jsonLinesBackend('hash', {
  command: [process.execPath, '--input-type=module', '-e', PROGRAM],
})
const session = await backend.open()
const script = [{ inputs: [{ atMs: 0, value: null }] }]
for (let i = 0; i < 50; i++) await drive(session, script)
const started = fingerprint()
const runs: number[][] = []
for (let run = 0; run < NUM_RUNS; run++) {
  const firstUs: number[] = []
  for (let request = 0; request < REQUESTS_PER_RUN; request++) {
    const [record] = await drive(session, script)
    firstUs.push(Math.round(1000 * record!.outputs[0]!.atMs))
  }
  runs.push(firstUs)
}
await session.close()
const lines = runs.map((run) => JSON.stringify(run)).join(',\n')
const head = `"environment": ${JSON.stringify(started)}, "unit": "us to first output"`
writeFileSync(
  new URL('../golden/run-pool.json', import.meta.url),
  `{${head}, "runs": [\n${lines}\n]}\n`,
)
