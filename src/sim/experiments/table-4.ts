/**
 * @module
 * Table 4, what a decision costs, as far as it can be measured without a GPU: timed here and now, so these numbers move from one
 * machine and run to the next.
 */
import { horizonScheduler } from '../omni/horizon-scheduler.js'
import { planRequests } from '../omni/request-plan.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { generateWorkload } from '../workload/generate.js'
import { number, table, text } from './document.js'
import type { Exhibit } from './exhibit.js'
import { experimentCase } from './experiment-cases.js'
import { TABLE_4 } from './paper-numbers.js'

const WAITING = 64
const STEPS = 50_000
const ARRIVALS = 20_000

export const table4: Exhibit = {
  id: 'table4',
  title: 'Table 4: the cost of a decision',
  jobs: () => [],
  section(_budget, _results, lab) {
    const { spec, calibration } = lab.world({ gpu: 'rtx-6000-ada', model: 'qwen2.5-omni' })
    const mix = mixByLongFraction(spec.classes, 0.3)
    const workload = generateWorkload({
      spec,
      mix,
      rate: 1,
      extent: { requests: ARRIVALS },
      seed: 1,
    })
    const { prefillTokens } = planRequests(spec, workload)
    const make = () =>
      horizonScheduler(
        spec,
        workload,
        experimentCase('horizonserve').policy(calibration, spec),
        calibration,
        prefillTokens,
      )
    const filled = make()
    for (let i = 0; i < WAITING; i++) filled.arrive(i, 0)
    const step = timed(STEPS, (i) => filled.step(i / 1000, 0.5, i / 1000, true))
    const many = make()
    const arrive = timed(ARRIVALS, (i) => many.arrive(i, 0))
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          'Microseconds',
          ['what', 'paper', 'ours, timed on this machine'],
          [
            [
              'annotation of a request (with its arrival)',
              number(TABLE_4.annotationPerRequest),
              number(arrive, 2),
            ],
            [
              `view and cap of a step, ${WAITING} waiting`,
              `${TABLE_4.viewPerStep} + ${TABLE_4.capPerStep}`,
              number(step, 2),
            ],
            ['NVML sample, shared-memory update, Green Context switch', '1.3, 33, 4.8', '–'],
          ],
        ),
        text(
          'The last line needs a GPU and the engine’s process; the benches of the controller and of the bindings measure it. Timed while other work ran on the machine: an upper bound.',
        ),
      ],
    }
  },
}

/** Microseconds per call, best of five rounds. */
function timed(calls: number, call: (i: number) => void): number {
  let best = Number.POSITIVE_INFINITY
  const round = Math.floor(calls / 5)
  for (let from = 0; from + round <= calls; from += round) {
    const start = performance.now()
    for (let i = from; i < from + round; i++) call(i)
    best = Math.min(best, ((performance.now() - start) * 1000) / round)
  }
  return best
}
