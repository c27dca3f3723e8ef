/**
 * @module
 * What would the same step cost written the obvious way, in Python (inside the engine) and in JavaScript, and the same algorithm in
 * Python? Rows `python.decideNs`, `python.sameAlgorithmDecideNs`, `scan.decideNs`, by number of waiting requests. Needs python3 3.9+.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Bench, Spread } from './bench.js'
import { ScanScheduler } from './peers/scan.js'
import { createRandom, TAKEN_PER_STEP } from './scheduler-workload.js'
import { spreadOf } from './spread.js'

const PLAN = {
  naive: { 64: 5000, 1024: 1000, 65536: 40, 1048576: 5 },
  sameAlgorithm: { 64: 20_000, 1024: 20_000, 65536: 20_000, 1048576: 20_000 },
}
const QUICK = {
  naive: { 64: 500, 1024: 100, 65536: 5 },
  sameAlgorithm: { 64: 2000, 1024: 2000, 65536: 2000 },
}

export const bench: Bench = {
  name: 'peers',
  question: 'what does the same step cost written the obvious way?',
  async run({ quick, log }) {
    const plan = quick ? QUICK : PLAN
    log('  JavaScript scan')
    const scan: Record<string, Spread> = {}
    for (const [size, samples] of Object.entries(plan.naive))
      scan[size] = measureScan(Number(size), samples)
    log('  Python')
    return { scan: { decideNs: scan }, python: measurePython(plan) }
  },
}

function measurePython(plan: typeof QUICK): Record<string, unknown> {
  // The bundle runs from out/bench; the Python files stay in bench/peers.
  const script = fileURLToPath(new URL('../../bench/peers/run.py', import.meta.url))
  const result = spawnSync('python3', ['-B', script, JSON.stringify(plan)], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (result.status !== 0)
    return { unavailable: result.error?.message ?? result.stderr.trim().split('\n').at(-1) }
  const printed = JSON.parse(result.stdout) as {
    python: string
    naive: Record<string, number[]>
    sameAlgorithm: Record<string, number[]>
  }
  const spreads = (rows: Record<string, number[]>): Record<string, Spread> =>
    Object.fromEntries(
      Object.entries(rows).map(([size, ns]) => [size, spreadOf(Float64Array.from(ns))]),
    )
  return {
    version: printed.python,
    decideNs: spreads(printed.naive),
    sameAlgorithmDecideNs: spreads(printed.sameAlgorithm),
  }
}

function measureScan(size: number, samples: number): Spread {
  const random = createRandom(12345)
  const scheduler = new ScanScheduler()
  let now = 0
  const arrive = (): void => {
    const isLong = (random() & 1) === 1
    const estimateMs = (isLong ? 350 : 10) + 0.04 * (32 << (random() & 7))
    scheduler.waiting.push({
      deadlineMs: now + (isLong ? 4000 : 500) * Math.max(1, size / 64),
      estimateMs,
      isLong,
    })
  }
  for (let i = 0; i < size; i++) {
    now += 1
    arrive()
  }
  const taken = new Float64Array(samples)
  for (let i = 0; i < samples; i++) {
    const start = process.hrtime.bigint()
    const batch = scheduler.step(now, 0.5, TAKEN_PER_STEP)
    taken[i] = Number(process.hrtime.bigint() - start)
    for (const _ of batch) arrive()
    now += TAKEN_PER_STEP
  }
  return spreadOf(taken)
}
