/**
 * @module
 * The measurement of one variant as the journal tells it: pilot, screening, confirmation, each with its pairs and looks. What
 * a stage must be (how many pairs, which level, which seed) follows from what is already journaled, so replaying a file
 * repeats every computation, and a verdict that its runs do not give is refused.
 */
import { HorizonError } from '../../core/errors.js'
import type { GateDeclaration } from '../gate/declaration.js'
import { confirmAlpha } from '../gate/family.js'
import { judge, type Outcome, type Verdict } from '../gate/judge.js'
import { type PairedRuns, PROBABILITY, quantile } from '../gate/metric.js'
import { type PilotReport, pilotLength, refusal, sizeFromPilot } from '../gate/pilot.js'
import { type PlannedRun, runOrder } from '../gate/run-order.js'
import type { EventOf, MeasureStage } from './events.js'

export interface StageRecord {
  readonly stage: MeasureStage
  readonly pairs: number
  readonly seed: string
  readonly environment: EventOf<'stage'>['environment']
  readonly done: readonly PairedRuns[]
  /** Number of pairs at each look so far, and its outcome. */
  readonly looks: readonly {
    readonly pairs: number
    readonly outcome: Outcome
    readonly improvement: number
  }[]
}

export interface Measurement {
  /** How many variants of the family were measured before: sets the price of the confirmation. */
  readonly familyIndex: number
  /** Share of time that its proposal promises to save; null when nobody predicted. */
  readonly expectedGain: number | null
  readonly stages: readonly StageRecord[]
}

/** What the measurement needs next. */
export type MeasurementStep =
  | {
      readonly do: 'start'
      readonly stage: MeasureStage
      readonly pairs: number
      readonly pilot?: PilotReport
    }
  | {
      readonly do: 'pair'
      readonly stage: StageRecord
      readonly pair: number
      readonly order: readonly PlannedRun[]
    }
  | { readonly do: 'judge'; readonly stage: StageRecord; readonly look: number }
  /** After a pilot that shows the stages to be in vain. Nothing was spent: another pilot may follow, on a quieter machine. */
  | { readonly do: 'refuse'; readonly why: string }
  | { readonly do: 'accept' }
  | { readonly do: 'reject'; readonly why: string }

/** The one step that follows. Pure. */
export function nextStep(measurement: Measurement, gate: GateDeclaration): MeasurementStep {
  const current = measurement.stages.at(-1)
  if (current === undefined) return { do: 'start', stage: 'pilot', pairs: gate.pilotPairs }
  const planned = lookPoints(current, gate)
  const nextLook = planned[current.looks.length]
  const last = current.looks.at(-1)
  const decided = last !== undefined && (last.outcome !== 'inconclusive' || nextLook === undefined)
  if (current.stage !== 'pilot' && decided) {
    if (last.outcome === 'accept')
      return current.stage === 'confirm' ? { do: 'accept' } : sized(measurement, gate, 'confirm')
    const stage = current.stage === 'screen' ? 'the screening' : 'the confirmation on fresh runs'
    return { do: 'reject', why: `${last.outcome} in ${stage} after ${last.pairs} pairs` }
  }
  if (current.done.length < (nextLook ?? current.pairs)) {
    const pair = current.done.length
    const order = runOrder(current.pairs, current.seed).filter((run) => run.pair === pair)
    return { do: 'pair', stage: current, pair, order }
  }
  return current.stage === 'pilot'
    ? afterPilot(measurement, gate)
    : { do: 'judge', stage: current, look: current.looks.length }
}

/** The verdict of look `look` of a stage, with bounds for a report or without for a replay. */
export function judgeStage(
  measurement: Measurement,
  stage: StageRecord,
  gate: GateDeclaration,
  look: number,
  bounds: boolean,
): Verdict {
  const spend = gate.looks[look]!.spend
  const alpha = stageAlpha(measurement, gate, stage.stage) * spend
  const pairs = stage.done.slice(0, lookPoints(stage, gate)[look])
  return judge(pairs, gate, { alpha, seed: `${stage.seed}/${look}`, bounds })
}

/** Level of a stage: the screening's own, or what the family has left for this confirmation. */
export function stageAlpha(
  measurement: Measurement,
  gate: GateDeclaration,
  stage: MeasureStage,
): number {
  return stage === 'confirm' ? confirmAlpha(gate, measurement.familyIndex) : gate.screenAlpha
}

/** A candidate's figures. */
export interface MeasuredPoint {
  readonly latencyMs: number
  readonly ratePerSec: number
  /** Time taken over media time made; absent where no media time was declared. */
  readonly realTimeFactor?: number | undefined
}

/** The candidate as its confirmation saw it: medians over runs of the runs' medians. */
export function measuredPoint(measurement: Measurement): MeasuredPoint {
  const runs = measurement.stages.at(-1)!.done.map((pair) => pair.candidate)
  const median = (values: readonly number[]): number =>
    Number(quantile(values, PROBABILITY.median).toFixed(6))
  const over = (sample: 'firstOutputMs' | 'ratePerSec'): number =>
    median(runs.map((run) => quantile(run[sample], PROBABILITY.median)))
  const factors = runs.flatMap((run) => run.realTimeFactor ?? [])
  return {
    latencyMs: over('firstOutputMs'),
    ratePerSec: over('ratePerSec'),
    ...(factors.length > 0 && { realTimeFactor: median(factors) }),
  }
}

/** Refuses a measurement event that is not the step that follows. */
export function requireStep(
  step: MeasurementStep,
  wanted: MeasurementStep['do'],
  field: string,
): void {
  if (step.do === wanted) return
  throw new HorizonError('ERR_DEPLOY_LOOP_EVIDENCE', 'the measurement is not that far', {
    field,
    expected: step.do,
    got: wanted,
    hint: 'A verdict needs every run that was declared, in order',
  })
}

function lookPoints(stage: StageRecord, gate: GateDeclaration): readonly number[] {
  return gate.looks.map((look) => Math.ceil(look.at * stage.pairs))
}

/** What the pilot says of the harder of the two stages; undefined before its first runs are done. */
export function pilotReport(
  measurement: Measurement,
  gate: GateDeclaration,
): PilotReport | undefined {
  const first = measurement.stages[0]
  if (first === undefined || first.done.length < first.pairs) return undefined
  const screen = reportOf(measurement, gate, 'screen')
  const confirm = reportOf(measurement, gate, 'confirm')
  return confirm.wanted > screen.wanted ? confirm : screen
}

/** A longer pilot, the screening, or none of it. */
function afterPilot(measurement: Measurement, gate: GateDeclaration): MeasurementStep {
  const harder = pilotReport(measurement, gate)!
  const have = harder.pilotPairs
  const missing = pilotLength(harder, gate) - have
  // At most doubled: what a short pilot asks for is itself uncertain.
  if (missing > 0) return { do: 'start', stage: 'pilot', pairs: Math.min(missing, have) }
  const why = refusal(harder, gate, measurement.expectedGain ?? 0)
  return why === undefined ? sized(measurement, gate, 'screen') : { do: 'refuse', why }
}

function sized(
  measurement: Measurement,
  gate: GateDeclaration,
  stage: 'screen' | 'confirm',
): MeasurementStep {
  const pilot = reportOf(measurement, gate, stage)
  return { do: 'start', stage, pairs: pilot.pairs, pilot }
}

/** What all pilot runs together say about a stage. */
function reportOf(
  measurement: Measurement,
  gate: GateDeclaration,
  stage: 'screen' | 'confirm',
): PilotReport {
  const pilots = measurement.stages.filter((item) => item.stage === 'pilot')
  const runs = pilots.flatMap((item) => item.done)
  return sizeFromPilot(runs, gate, stageAlpha(measurement, gate, stage), pilots[0]!.seed)
}
