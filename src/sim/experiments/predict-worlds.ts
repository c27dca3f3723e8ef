/**
 * @module
 * What the worlds that fit the baselines say about HorizonServe: its rows at the quoted points of figure 8, and the statements of figures 9,
 * 10 and 11. Nothing here was fitted to those; the one choice made on the four quoted points is the reading of the literal system.
 */
import {
  mean,
  overArrivedPct,
  overCompletedPct,
  pointIn,
  textPct,
  type WorldFit,
} from './fit-worlds.js'
import type { Job, Row } from './job.js'
import { AS_MEANT } from './literal-readings.js'
import { FIGURE_8 } from './paper-numbers.js'

export interface PredictOptions {
  readonly run: (job: Job) => Row
  readonly seeds: readonly number[]
  readonly minutes: number
  /** The case that stands for the literal system, and the one recommended. */
  readonly literal?: string
  readonly recommended: string
}

/** % over completed and over arrived at a quoted point. */
export interface Attained {
  readonly completed: number
  readonly arrived: number
}

export interface WorldPrediction {
  readonly id: string
  readonly literal: readonly Attained[]
  readonly recommended: readonly Attained[]
  /** BAGEL's text under vanilla at 0, 10, … 60 % long path, % over completed. */
  readonly figure3: readonly number[]
  /** Whether each of `STATEMENTS` holds. */
  readonly statements: readonly boolean[]
}

/** The paper's qualitative statements, one line each. */
export const STATEMENTS = [
  ['figure 3', 'BAGEL text falls by a factor of at least 6 from 0 to 60 % long path'],
  ['figure 8', 'at least 3 times the best baseline where the paper has 4 times or more'],
  ['figure 9', 'p95 first response below the best baseline’s, qwen2.5-omni on RTX 6000 Ada'],
  ['figure 9', 'p95 first response below the best baseline’s, BAGEL on RTX 6000 Ada'],
  ['figure 10', 'pressure and cap correlate with at least 0.9'],
  ['figure 11', 'without the SM throttle at least 17 points are lost'],
  ['figure 11', 'without the temporal part at least 17 points are lost'],
  ['figure 11', 'the temporal part is worth more than the throttle'],
] as const

export function predictWorld(world: WorldFit, options: PredictOptions): WorldPrediction {
  const { seeds, minutes, recommended, literal = AS_MEANT } = options
  type Of = Parameters<typeof pointIn>[1]
  const rowsAt = (of: Of, policy: string): Row[] =>
    seeds.map((seed) => options.run({ point: pointIn(world, of, minutes), policy, seed }))
  const attained = (of: Of, policy: string): Attained => {
    const rows = rowsAt(of, policy)
    return { completed: overCompletedPct(rows), arrived: overArrivedPct(rows) }
  }
  const quoted = FIGURE_8.quoted as readonly (Of & (typeof FIGURE_8.quoted)[number])[]
  const bagel = quoted[3] as Of
  const figure3 = Array.from({ length: 7 }, (_, i) =>
    textPct(rowsAt({ ...bagel, longFraction: i / 10 }, 'vanilla')),
  )
  const ofLiteral = quoted.map((of) => attained(of, literal))
  const p95 = (of: Of, policy: string): number =>
    mean(rowsAt(of, policy).map((row) => row.all.p95Ms ?? Number.POSITIVE_INFINITY))
  const p95Falls = (of: Of): boolean =>
    p95(of, literal) <
    Math.min(...['vanilla', 'edf', 'mps', 'edf-mps'].map((name) => p95(of, name)))
  const qwen = { gpu: 'rtx-6000-ada', model: 'qwen2.5-omni' } as const
  const calm = { ...qwen, rate: 0.2, longFraction: 0.3 }
  const [full, noThrottle, noRotation] = [literal, 'meant-no-throttle', 'meant-no-rotation'].map(
    (policy) => overCompletedPct(rowsAt(calm, policy)),
  ) as [number, number, number]
  const correlation = mean(
    rowsAt({ ...qwen, rate: 0.3, longFraction: 0.4 }, literal).map(
      (row) => row.correlation[0] ?? 0,
    ),
  )
  const ratios = quoted.every(
    ({ horizonServe, bestBaseline }, i) =>
      horizonServe / bestBaseline < 4 ||
      (ofLiteral[i] as Attained).completed >= 3 * (world.quoted[i] as number),
  )
  return {
    id: world.id,
    literal: ofLiteral,
    recommended: quoted.map((of) => attained(of, recommended)),
    figure3,
    statements: [
      (figure3[0] as number) >= 6 * (figure3[6] as number),
      ratios,
      p95Falls(quoted[1] as Of),
      p95Falls(bagel),
      correlation >= 0.9,
      full - noThrottle >= 17,
      full - noRotation >= 17,
      noRotation < noThrottle,
    ],
  }
}
