/**
 * @module
 * What does one scheduling decision cost, and does it stay flat in the number of waiting requests? Rows: `decideNs` (step and take 8
 * from the view), `stepOnlyNs`, `updateNs` (arrive + admit + leave), `driftNs` (the step after a slowdown change), `bytesPerStep`,
 * `annotateNs`, `capNs`.
 */

import { Bench as TinyBench } from 'tinybench'
import { checkIntegrity } from '../src/core/integrity.js'
import { INPUT } from '../src/core/ports.js'
import { CHUNK_BITS, CHUNK_MASK } from '../src/core/request-table.js'
import { TIME } from '../src/core/signals.js'
import type { Bench, BenchContext, Spread } from './bench.js'
import { createSteadyState, type SteadyState, TAKEN_PER_STEP } from './scheduler-workload.js'
import { spreadOf, timerCost } from './spread.js'

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
    for (const size of SIZES) {
      context.log(`  ${size} waiting`)
      for (const [row, value] of Object.entries(measure(size, context))) rows[row]![size] = value
    }
    return { timerNs: timerCost(), ...rows, ...(await parts(context)), sizes: SIZES }
  },
}

function measure(size: number, { quick }: BenchContext): Record<string, Spread | number> {
  const state = createSteadyState(size)
  state.fill()
  const samples = quick ? 5_000 : 50_000
  for (let i = 0; i < Math.min(samples, 20_000); i++) turn(state)
  const decideNs = sample(samples, () => turnTimed(state, true))
  const stepOnlyNs = sample(samples, () => turnTimed(state, false))
  const updateNs = sample(samples, () => updateTimed(state))
  const bytesPerStep = allocation(state, quick ? 20_000 : 200_000)
  const driftNs = sample(quick ? 50 : 400, () => driftTimed(state))
  checkIntegrity(state.scheduler)
  return { decideNs, stepOnlyNs, updateNs, driftNs, bytesPerStep }
}

function sample(count: number, run: () => number): Spread {
  const samples = new Float64Array(count)
  for (let i = 0; i < count; i++) samples[i] = run()
  return spreadOf(samples)
}

/** One turn, nothing timed and nothing allocated. */
function turn(state: SteadyState): void {
  const { scheduler, taken } = state
  scheduler.cells[1] = 0.5
  scheduler.stepNow(true)
  const { view } = scheduler.decision
  let numTaken = 0
  while (numTaken < TAKEN_PER_STEP) {
    const handle = view.take()
    if (handle === 0) break
    taken[numTaken++] = handle
  }
  for (let k = 0; k < numTaken; k++) scheduler.admit(taken[k]!)
  state.settle(numTaken)
}

function turnTimed(state: SteadyState, taking: boolean): number {
  const { scheduler, taken } = state
  scheduler.cells[1] = 0.5
  const start = process.hrtime.bigint()
  const { view } = scheduler.stepNow(true)
  let numTaken = 0
  if (taking) numTaken = take(view, taken)
  const ns = Number(process.hrtime.bigint() - start)
  if (!taking) numTaken = take(view, taken)
  for (let k = 0; k < numTaken; k++) scheduler.admit(taken[k]!)
  state.settle(numTaken)
  return ns
}

function take(view: { take(): number }, taken: Int32Array): number {
  let numTaken = 0
  while (numTaken < TAKEN_PER_STEP) {
    const handle = view.take()
    if (handle === 0) break
    taken[numTaken++] = handle
  }
  return numTaken
}

/** One arrival, one admission from the view, one departure, without the steps between them. */
function updateTimed(state: SteadyState): number {
  const { scheduler } = state
  let handle = 0
  while (handle === 0) {
    scheduler.cells[0] = scheduler.cells[0]! + 1
    handle = scheduler.stepNow(true).view.take()
  }
  const { classIndex } = scheduler.table.chunks[scheduler.table.slotOf(handle) >> CHUNK_BITS]!
  const c = classIndex[scheduler.table.slotOf(handle) & CHUNK_MASK]!
  const start = process.hrtime.bigint()
  state.arrive(c)
  scheduler.admit(handle)
  scheduler.cancel(handle)
  return Number(process.hrtime.bigint() - start)
}

let toggled = false
/** The step after the slowdown of one class moved by an eighth of an octave and back. */
function driftTimed(state: SteadyState): number {
  const { scheduler } = state
  toggled = !toggled
  scheduler.setSlowdown('t2a', toggled ? 1.5 : 1.25)
  const start = process.hrtime.bigint()
  scheduler.stepNow(true)
  const ns = Number(process.hrtime.bigint() - start)
  turn(state)
  return ns
}

/** Heap growth per turn, best of five. Needs --expose-gc; NaN without. */
function allocation(state: SteadyState, turns: number): number {
  const { gc } = globalThis as { gc?: () => void }
  if (gc === undefined) return Number.NaN
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 5; round++) {
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < turns; i++) turn(state)
    best = Math.min(best, (process.memoryUsage().heapUsed - before) / turns)
  }
  return Number(best.toFixed(3))
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
