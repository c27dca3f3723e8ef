/**
 * @module
 * What tuning is worth: the search of `horizonserve tune` from the recommended policy, on windows of a recorded trace, and what is left
 * of its gain on windows that it never saw. The search decides its next run by the last, so that its runs are not jobs of the store.
 */
import type { Policy } from '../../core/index.js'
import { horizonPolicy, RESERVE_U_LOST } from '../../policies/index.js'
import type { CalibrateResult } from '../calibrate/calibrate.js'
import { simulate } from '../simulate.js'
import { number, signed, table, text } from './document.js'
import { type Exhibit, representative } from './exhibit.js'
import type { Estimate } from './statistics.js'
import { type Candidate, scaledLevels, tune } from './tune.js'

const MODEL = 'mimo-audio'
const SEEDS = 6
const HELD_OUT = 20
const TRIALS = 40

/** The recommended policy with the numbers of a candidate. */
export function candidatePolicy(
  { uGuard, longPathCap: cap, m, nMin, nMax }: Candidate,
  { saturation }: CalibrateResult,
  slots: number,
): Policy {
  return horizonPolicy({
    uGuard,
    longPathCap: { cap },
    rotation: { m, nMin, nMax },
    triage: { uLost: Math.min(RESERVE_U_LOST, uGuard) },
    slotReserve: { slots },
    throttle: { saturation },
  })
}

/** Where the search begins when nothing else is said: the recommended policy. */
export function usualCandidate(slots: number): Candidate {
  const longPathCap = Math.max(1, (3 * slots) >> 2)
  return { uGuard: 2, longPathCap, nMin: 2, nMax: 8, m: 2, ladderScale: 1 }
}

export function scaledCalibration(
  calibration: CalibrateResult,
  { ladderScale }: Candidate,
): CalibrateResult {
  const { ladder } = calibration
  const top = ladder.aggressiveSms ?? ladder.totalSms
  return {
    ...calibration,
    ladder: { ...ladder, levels: scaledLevels(ladder.levels, ladderScale, top) },
  }
}

export const tuning: Exhibit = {
  id: 'tuning',
  title: 'What tuning is worth',
  jobs: () => [],
  section(budget, _results, lab) {
    const { id, title } = this
    if (!budget.traces) return { id, title, blocks: [text('Not run: no traces were given.')] }
    const point = {
      ...representative('rtx-6000-ada', MODEL, budget),
      arrivals: 'azure-conv',
    } as const
    const { spec, calibration } = lab.world(point)
    const { slots } = spec.shared
    const start = usualCandidate(slots)
    const tuned = tune({
      start,
      // Below the seeds of the experiments.
      seeds: Array.from({ length: SEEDS }, (_, i) => 1 + i),
      heldOut: Array.from({ length: HELD_OUT }, (_, i) => 1 + SEEDS + i),
      trials: TRIALS,
      seed: 1,
      evaluate(candidate, seed) {
        const known = scaledCalibration(calibration, candidate)
        const policy = candidatePolicy(candidate, known, slots)
        const of = {
          name: 'tuned',
          about: '',
          sharing: 'green-contexts',
          policy: () => policy,
        } as const
        const workload = lab.workload(point, seed)
        const { summary } = simulate({ runtime: spec, workload, policy: of, calibration: known })
        return 100 * summary.all.attainmentOverArrived
      },
    })
    const names = Object.keys(start) as (keyof Candidate)[]
    const points = ({ mean, half }: Estimate): string => `${signed(mean)} ± ${number(half)}`
    return {
      id,
      title,
      blocks: [
        table(
          `Search over ${tuned.tried} candidates for the highest attainment over all that arrived; ${MODEL} on RTX 6000 Ada, Azure conv arrivals at ${point.rate} req/s, ${SEEDS} windows`,
          ['', ...names],
          [
            ['start: horizonserve-slots', ...names.map((name) => String(start[name]))],
            ['found', ...names.map((name) => String(tuned.best[name]))],
          ],
        ),
        text(
          Number.isNaN(tuned.survives)
            ? 'Nothing better than the start was found.'
            : `Gain on the windows of the search: ${points(tuned.gain)} points; on ${HELD_OUT} windows that it never saw: ${points(tuned.heldOutGain)}. So ${number(100 * tuned.survives, 0)} % of the gain survives, and the rest was luck of the draw.`,
        ),
      ],
    }
  },
}
