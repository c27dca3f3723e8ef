/**
 * @module
 * What does a decision cost when several schedulers live in one process and are stepped in turn? Rows under `schedulersNs`, by the
 * number of schedulers: step and up to 8 taken, per scheduler, at 1,024 waiting in each.
 */
import { runApart } from './apart.js'
import type { Bench } from './bench.js'

const COUNTS = [1, 2, 8]

/** Processes per row, the rows in turn, so that a busy spell of the machine falls on all of them. */
const ROUNDS = 3

export const bench: Bench = {
  name: 'schedulers',
  question: 'what does a decision cost with 1, 2 and 8 schedulers in a process?',
  async run(context) {
    const p50s = new Map(COUNTS.map((count) => [count, new Float64Array(ROUNDS)]))
    const rounds = context.quick ? 1 : ROUNDS
    for (let round = 0; round < rounds; round++) {
      for (const [count, of] of p50s)
        of[round] = runApart<{ p50: number }>('schedulers-in-process', [String(count)], context).p50
      context.log(
        `  round ${round + 1}: ${[...p50s.values()].map((of) => of[round]).join(', ')} ns`,
      )
    }
    return {
      schedulersNs: Object.fromEntries(
        [...p50s].map(([count, of]) => [count, { p50: of.slice(0, rounds).sort()[rounds >> 1] }]),
      ),
    }
  },
}
