/**
 * @module
 * One row of `schedulers.ts`: `node --expose-gc schedulers-in-process.js COUNT full|quick` prints `{ p50 }` as JSON.
 */
import { checkIntegrity } from '../src/core/integrity.js'
import { createSteadyState } from './scheduler-workload.js'
import { spreadOf } from './spread.js'
import { turnTimed } from './turn.js'

const WAITING = 1024

const [count, mode] = process.argv.slice(2)
process.stdout.write(JSON.stringify(measure(Number(count), mode === 'quick')))

/** Every scheduler makes as many turns as the one of the first row. */
function measure(numSchedulers: number, quick: boolean): { p50: number } {
  const turns = quick ? 5_000 : 50_000
  const states = Array.from({ length: numSchedulers }, () => createSteadyState(WAITING))
  for (const state of states) state.fill()
  for (let i = 0; i < Math.min(turns, 20_000); i++)
    for (const state of states) turnTimed(state, true)
  const samples = new Float64Array(turns * numSchedulers)
  let at = 0
  for (let i = 0; i < turns; i++) for (const state of states) samples[at++] = turnTimed(state, true)
  for (const { scheduler } of states) checkIntegrity(scheduler)
  return { p50: spreadOf(samples).p50 }
}
