/**
 * @module
 * Identification, kept apart from prediction: which worlds reproduce the published baselines (`fit-worlds.ts`), and what those worlds say
 * about HorizonServe (`predict-worlds.ts`). The document is the machine-readable answer of `horizonserve identify`.
 */
import { mean, tenth, type WorldFit } from './fit-worlds.js'
import { FIGURE_8 } from './paper-numbers.js'
import { type Attained, STATEMENTS, type WorldPrediction } from './predict-worlds.js'

/** Over the fitting worlds; low and high over completed. `null` where no world fits. */
export interface Spread {
  readonly mean: number | null
  readonly low: number | null
  readonly high: number | null
  readonly meanOverArrived: number | null
}

export interface Identification {
  readonly worldsTried: number
  readonly worldsFitting: number
  readonly worlds: readonly WorldFit[]
  readonly quoted: readonly {
    readonly point: string
    readonly paper: { readonly baseline: number; readonly horizonserve: number }
    readonly baseline: Spread
    readonly literal: Spread
    readonly default: Spread
    /** Share of the fitting worlds whose literal system is within 12 points of the paper's HorizonServe. */
    readonly share: number | null
  }[]
  readonly figure3: { readonly text: readonly (number | null)[] }
  readonly statements: readonly {
    readonly figure: string
    readonly statement: string
    readonly share: number | null
  }[]
}

/** Points by which a prediction may miss the paper and still count in `share`. */
export const NEAR_POINTS = 12

export function identification(
  worlds: readonly WorldFit[],
  predictions: readonly WorldPrediction[],
): Identification {
  const fitting = predictions.map(({ id }) => worlds.find((world) => world.id === id) as WorldFit)
  return {
    worldsTried: worlds.length,
    worldsFitting: fitting.length,
    worlds: [...worlds].sort((a, b) => a.baselineRmse - b.baselineRmse),
    quoted: FIGURE_8.quoted.map(
      ({ gpu, model, rate, longFraction, horizonServe, bestBaseline }, i) => {
        const literal = predictions.map((of) => of.literal[i] as Attained)
        return {
          point: `${model}, ${gpu}, ${rate} req/s, ${100 * longFraction} % long`,
          paper: { baseline: bestBaseline, horizonserve: horizonServe },
          baseline: spread(
            fitting.map((world) => ({
              completed: world.quoted[i] as number,
              arrived: world.quotedOverArrived[i] as number,
            })),
          ),
          literal: spread(literal),
          default: spread(predictions.map((of) => of.recommended[i] as Attained)),
          share: shareOf(literal.map((of) => Math.abs(of.completed - horizonServe) <= NEAR_POINTS)),
        }
      },
    ),
    figure3: {
      text: Array.from({ length: 7 }, (_, i) =>
        meanOf(predictions.map((of) => of.figure3[i] as number)),
      ),
    },
    statements: STATEMENTS.map(([figure, statement], i) => ({
      figure,
      statement,
      share: shareOf(predictions.map((of) => of.statements[i] as boolean)),
    })),
  }
}

function spread(of: readonly Attained[]): Spread {
  if (of.length === 0) return { mean: null, low: null, high: null, meanOverArrived: null }
  const completed = of.map((one) => one.completed)
  return {
    mean: meanOf(completed),
    low: tenth(Math.min(...completed)),
    high: tenth(Math.max(...completed)),
    meanOverArrived: meanOf(of.map((one) => one.arrived)),
  }
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : tenth(mean(values))
}

function shareOf(holds: readonly boolean[]): number | null {
  if (holds.length === 0) return null
  return Math.round((100 * holds.filter(Boolean).length) / holds.length) / 100
}
