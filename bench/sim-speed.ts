/**
 * @module
 * How fast virtual time runs. Events are pops of the queue: on M/M/8 each does the least a model can do (two draws per customer), which shows
 * the core; the replay of a real run shows a model on top of it, as virtual over wall time. One core, files read before the clock starts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { exponential } from '../src/sim/distributions.js'
import { simulateQueue } from '../src/sim/queueing.js'
import { engineSettings } from '../src/sim/vllm/engine-settings.js'
import { loadKernelTables, tablesPrefix } from '../src/sim/vllm/load-tables.js'
import { parseRecordedRun } from '../src/sim/vllm/recorded-run.js'
import { replayRun } from '../src/sim/vllm/replay.js'
import type { Bench } from './bench.js'

const RUNS = '../shared/traces/vllm-groundtruth'
const NAMES = ['RTXPRO6000_Llama-3.1-8B', 'RTXPRO6000_Qwen3-32B']

export const bench: Bench = {
  name: 'sim-speed',
  question: 'how many events per second, and how much faster than the real run?',
  async run({ quick, log }) {
    const core = eventsPerSec(quick ? 2e5 : 2e6)
    const replays: Record<string, { first: number; median: number }> = {}
    for (const name of NAMES) {
      const requests = `${RUNS}/${name}.requests.jsonl`
      if (!existsSync(requests)) {
        log(`  ${requests} is not here: no speed-up on it`)
        continue
      }
      const meta = `${RUNS}/${name}.meta.json`
      const settings = engineSettings(JSON.parse(readFileSync(meta, 'utf8')), meta)
      const subject = {
        name,
        run: parseRecordedRun(readFileSync(requests, 'utf8'), requests),
        settings,
        tables: loadKernelTables(tablesPrefix(`${RUNS}/${name}`, settings.tensorParallel)),
      }
      const times = Array.from({ length: quick ? 3 : 15 }, () => replayRun(subject).result.speedup)
      // The first one compiles.
      const first = times[0] as number
      replays[name] = { first, median: times.sort((a, b) => a - b)[times.length >> 1] as number }
    }
    const medians = Object.values(replays).map((replay) => replay.median)
    return {
      simEventsPerSec: core.median,
      // Virtual over wall time, of the slower of the two runs; null where they are not at hand.
      simSpeedup: medians.length === 0 ? null : Math.min(...medians),
      simSpeed: { queue: core, replays },
    }
  },
}

function eventsPerSec(customers: number): { median: number; best: number; events: number } {
  const rates = Array.from({ length: 5 }, (_, seed) => {
    const startMs = performance.now()
    const { events } = simulateQueue({
      servers: 8,
      gap: exponential(1),
      service: exponential(7.2),
      customers,
      seed,
    })
    return (events / (performance.now() - startMs)) * 1000
  }).sort((a, b) => a - b)
  return { median: rates[2] as number, best: rates[4] as number, events: 2 * customers }
}
