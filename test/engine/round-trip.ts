/**
 * Imports every deploy file of a folder, plans it with times made up for the purpose, and emits it again, twice: on as many
 * GPUs as the file uses, and on twice as many at other degrees. `node --import tsx test/engine/round-trip.ts FOLDER OUT`.
 * Prints one JSON object: by file the pipeline, the GPUs of the file, or why it was refused.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import {
  emitVllmOmni,
  importDeploy,
  machine,
  plan,
  readDeployFile,
  readPipeline,
} from '../../src/deploy/index.js'

const [folder, out] = process.argv.slice(2) as [string, string]
const said: Record<string, unknown> = {}
for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
  try {
    const base = readDeployFile(join(folder, file), (named, from) => {
      const path = from === undefined || isAbsolute(named) ? named : join(dirname(from), named)
      return { path, text: readFileSync(path, 'utf8') }
    })
    const devices = base.stages.flatMap((stage) => String(stage.devices ?? '0').split(','))
    const used = Math.max(...devices.map(Number)) + 1
    const made = importDeploy(base, { base: file, model: 'MODEL' })
    for (const [label, gpus, times] of [
      ['same', used, '10'],
      ['other', Math.min(8, used * 2), '{ 1: 40, 2: 10 }'],
    ] as const) {
      const text = made.text.replaceAll('    parallel:', `    timesMs: ${times}\n    parallel:`)
      const { graph } = readPipeline(text, file)
      const budget = machine({ gpus })
      const best = plan(graph, budget, { objective: 'latency', nodes: 2000 }).plans[0]!
      const place = join(out, label, file.replace(/\.yaml$/, ''))
      mkdirSync(place, { recursive: true })
      for (const one of emitVllmOmni(graph, budget, best, base))
        writeFileSync(join(place, one.name), one.text)
    }
    said[file] = { pipeline: made.pipeline, gpus: used }
  } catch (error) {
    said[file] = { refused: (error as Error).message }
  }
}
console.log(JSON.stringify(said))
