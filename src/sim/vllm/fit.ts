/**
 * @module
 * Fits what no kernel table holds on the steps of one real run: the host's part of a step, and between GPUs the fixed cost and the bandwidth of
 * a collective. The rest of the model has nothing to fit. Every constant carries the name of the run it came from.
 */
import { HorizonError } from '../../core/errors.js'
import { tensorParallelBytes, tensorParallelCalls } from './collectives.js'
import type { EngineSettings } from './engine-settings.js'
import { robustFit } from './least-squares.js'
import { measureReuse, type PromptReuse } from './prompt-reuse.js'
import type { RecordedRequest } from './recorded-run.js'
import {
  createStepPrice,
  type EngineConstants,
  type KernelTables,
  type StepPrice,
} from './step-price.js'
import { type StepInterval, stepIntervals } from './step-residuals.js'
import { type StepTimeline, stepTimeline } from './step-timeline.js'

export interface FitRun {
  /** Named in the result. */
  readonly name: string
  readonly run: readonly RecordedRequest[]
  readonly settings: EngineSettings
  readonly tables: KernelTables
}

/** An interval of many steps is known better per step, up to where its steps differ: it weighs as its length, at most this. */
const HEAVIEST = 25

/** Host constants and prompt reuse of a run; for a tensor-parallel one its collectives too, as they cannot be told apart otherwise. */
export function fitHost(
  fitRun: FitRun,
  start: EngineConstants,
): { readonly constants: EngineConstants; readonly reuse: PromptReuse } {
  const timeline = timelineOf(fitRun)
  let constants = start
  let reuse: PromptReuse | undefined
  // Reuse is told by steps that end early, so it needs the constants, and they are cleaner without the steps it shortened.
  for (let round = 0; round < 3; round++) {
    constants = fitConstants(fitRun, timeline, constants, reuse, { host: true, untilMs: Infinity })
    const price = createStepPrice(fitRun.tables, fitRun.settings, constants)
    reuse = measureReuse(fitRun.run, intervalsOf(fitRun, timeline, price), {
      tokenMs: tokenMs(price),
      blockSize: fitRun.settings.blockSize,
    })
  }
  return { constants, reuse: reuse as PromptReuse }
}

/** The collectives alone, on the part of a run before `untilMs`; the host's constants stay as given. */
export function fitCollectives(
  fitRun: FitRun,
  start: EngineConstants,
  reuse: PromptReuse | undefined,
  untilMs: number,
): EngineConstants {
  return fitConstants(fitRun, timelineOf(fitRun), start, reuse, { host: false, untilMs })
}

function fitConstants(
  fitRun: FitRun,
  timeline: StepTimeline,
  start: EngineConstants,
  reuse: PromptReuse | undefined,
  what: { readonly host: boolean; readonly untilMs: number },
): EngineConstants {
  const { settings, tables } = fitRun
  const parallel = settings.tensorParallel > 1
  const bare: EngineConstants = {
    ...start,
    ...(what.host ? { stepMs: 0, promptStepMs: 0 } : {}),
    ...(parallel ? { collectiveUs: 0, collectiveBytesPerUs: Infinity } : {}),
  }
  const price = createStepPrice(tables, settings, bare)
  const intervals = intervalsOf(fitRun, timeline, price, reuse).filter(
    (i) => i.endMs <= what.untilMs && i.steps > 0,
  )
  const calls = tensorParallelCalls(settings)
  const rows: number[][] = []
  const y: number[] = []
  for (const i of intervals) {
    const row: number[] = []
    // With collectives in the fit a step's own fixed time cannot be told from theirs.
    if (what.host) row.push(parallel ? 0 : i.steps, i.promptSteps)
    if (parallel) {
      const bytes = tensorParallelBytes(settings, i.paddedTokens, i.sequences)
      row.push((calls * i.steps) / 1000, bytes / 1000)
    }
    const weight = Math.sqrt(Math.min(i.steps, HEAVIEST)) / i.steps
    rows.push(row.map((cell) => cell * weight))
    y.push((i.realMs - i.priceMs) * weight)
  }
  if (rows.length < 8) {
    throw new HorizonError('ERR_SIM_FIT', 'too little of the run can be numbered to fit on it', {
      field: fitRun.name,
      expected: 'at least 8 intervals between stamps',
      got: rows.length,
    })
  }
  const found = robustFit(rows, y)
  const host = what.host ? 2 : 0
  return {
    ...start,
    ...(what.host ? { stepMs: found[0] as number, promptStepMs: found[1] as number } : {}),
    ...(parallel
      ? {
          collectiveUs: Math.max(0, found[host] as number),
          collectiveBytesPerUs: 1 / Math.max(1e-9, found[host + 1] as number),
        }
      : {}),
  }
}

function timelineOf({ run, settings }: FitRun): StepTimeline {
  return stepTimeline(run, {
    maxBatchedTokens: settings.maxBatchedTokens,
    maxSeqs: settings.maxSeqs,
    lead: settings.asyncScheduling ? 2 : 1,
  })
}

function intervalsOf(
  { run, settings }: FitRun,
  timeline: StepTimeline,
  price: StepPrice,
  reuse?: PromptReuse,
): StepInterval[] {
  return stepIntervals(run, timeline, price, {
    maxBatchedTokens: settings.maxBatchedTokens,
    ...(reuse === undefined ? {} : { cachedTokens: reuse.prefixTokens }),
  })
}

/** What a further prompt token costs in a step that has hundreds of them. */
function tokenMs(price: StepPrice): number {
  return (price.promptMs(2048) - price.promptMs(512)) / 1536
}
