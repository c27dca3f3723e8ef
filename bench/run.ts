/**
 * @module
 * `npm run -s bench -- [--json] [--quick] [--only name,…]`: runs every bench file of the registry in one process, one after
 * another, and prints one object. The machine's name and load stand beside the figures: compare within a run, not across runs.
 */
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { BENCHES } from './registry.js'

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, only: { type: 'string' } },
})
const only = values.only?.split(',')
const log = (text: string): void => void process.stderr.write(`${text}\n`)

const result: Record<string, unknown> = {
  machine: {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    node: process.version,
    load1: loadavg()[0],
  },
}
for (const entry of BENCHES) {
  if (only !== undefined && !only.includes(entry.name)) continue
  const bench = await entry.load()
  log(`${bench.name}: ${bench.question}`)
  for (const [key, value] of Object.entries(
    await bench.run({ quick: values.quick === true, log }),
  )) {
    // Two files may add rows to one group (`python`), never to one row.
    const group = result[key]
    result[key] = isRecord(group) && isRecord(value) ? { ...group, ...value } : value
  }
}
process.stdout.write(
  values.json ? `${JSON.stringify(result)}\n` : `${JSON.stringify(result, null, 2)}\n`,
)

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
