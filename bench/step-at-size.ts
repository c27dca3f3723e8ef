/**
 * @module
 * The rows of `step.ts` for one steady state: `node --expose-gc step-at-size.js SIZE urgent|calm full|quick` prints them as JSON.
 */
import { checkIntegrity } from '../src/core/integrity.js'
import { CHUNK_BITS, CHUNK_MASK } from '../src/core/request-table.js'
import type { Spread } from './bench.js'
import { createSteadyState, type SteadyState, TAKEN_PER_STEP } from './scheduler-workload.js'
import { spreadOf } from './spread.js'
import { turnTimed } from './turn.js'

const [size, kind, mode] = process.argv.slice(2)
const state = createSteadyState(Number(size), kind === 'calm')
process.stdout.write(JSON.stringify(measure(state, mode === 'quick')))

function measure(state: SteadyState, quick: boolean): Record<string, Spread | number> {
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
/** The step after the slowdown of the class whose requests turn urgent moved by a quarter of an octave, there and back. */
function driftTimed(state: SteadyState): number {
  const { scheduler } = state
  toggled = !toggled
  scheduler.setSlowdown('v2t', toggled ? 1.5 : 1.25)
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
