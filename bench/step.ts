/**
 * @module
 * What does one scheduling decision cost, and does it stay flat in the number of waiting requests? Rows: `decideNs` (step and take 8
 * from the view), `stepOnlyNs`, `updateNs` (arrive + admit + leave), `driftNs` (the step after a slowdown change), `bytesPerStep`,
 * `annotateNs`, `capNs`; under `calm` the first two where nothing turns urgent. Each state runs in a process of its own (`step-at-size.ts`).
 */
import { Bench as TinyBench } from 'tinybench'
import { INPUT } from '../src/core/ports.js'
import { TIME } from '../src/core/signals.js'
import { runApart } from './apart.js'
import type { Bench, BenchContext, Spread } from './bench.js'
import { createSteadyState } from './scheduler-workload.js'
import { timerCost } from './spread.js'

type Rows = Record<string, Spread | number>

const SIZES = [64, 1024, 65_536, 1_048_576]

export const bench: Bench = {
  name: 'step',
  question: 'what does a decision cost at 64 to 1,048,576 waiting requests?',
  async run(context) {
    const rows: Record<string, Record<string, unknown>> = {
      decideNs: {},
      stepOnlyNs: {},
      updateNs: {},
      driftNs: {},
      bytesPerStep: {},
    }
    const calm: Record<string, Record<string, unknown>> = { decideNs: {}, stepOnlyNs: {} }
    for (const size of SIZES) {
      context.log(`  ${size} waiting`)
      const urgent = runApart<Rows>('step-at-size', [String(size), 'urgent'], context)
      for (const row of Object.keys(rows)) rows[row]![size] = urgent[row]
      const quiet = runApart<Rows>('step-at-size', [String(size), 'calm'], context)
      for (const row of Object.keys(calm)) calm[row]![size] = quiet[row]
    }
    return { timerNs: timerCost(), ...rows, calm, ...(await parts(context)), sizes: SIZES }
  },
}

/** Calls per sample: one call is below the timer. */
const BATCH = 1000

async function parts({ quick }: BenchContext): Promise<Record<string, Spread>> {
  const { scheduler } = createSteadyState(64)
  const out = new Float64Array(3)
  const { inputs, signals, ladder } = scheduler
  const cap = scheduler.policy.cap()
  signals.downstreamActive = true
  signals.pressureIsNew = true
  const tiny = new TinyBench({
    time: quick ? 100 : 1000,
    warmupTime: 100,
    timestampProvider: 'hrtimeNow',
  })
  tiny.add('annotateNs', () => {
    for (let i = 0; i < BATCH; i++) {
      inputs[INPUT.promptTokens] = 32 + i
      scheduler.profiler.annotate(i & 7, inputs, out)
    }
  })
  tiny.add('capNs', () => {
    for (let i = 0; i < BATCH; i++) {
      signals.times[TIME.pressure] = (i & 15) / 16
      signals.appliedLevel = cap.cap(signals, ladder)
    }
  })
  await tiny.run()
  const perCall = (ms: number): number => Math.round((ms * 1e6) / BATCH)
  return Object.fromEntries(
    tiny.tasks.map((task) => {
      const { result } = task
      if (!('latency' in result)) throw new Error(`bench task ${task.name} did not run`)
      const { p50, p99, max } = result.latency
      return [task.name, { p50: perCall(p50), p99: perCall(p99), max: perCall(max) }]
    }),
  )
}
