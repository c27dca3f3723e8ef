/**
 * @module
 * Takes a verified variant to its verdict, one journaled pair at a time: pilot, screening, confirmation. May be stopped and
 * called again at any point; what was declared before the first run stays as it is.
 */
import { HorizonError } from '../../core/errors.js'
import type { RunSamples } from '../gate/metric.js'
import type { Side } from '../gate/run-order.js'
import type { Backend } from '../harness/backend.js'
import type { ScriptedRequest } from '../harness/drive.js'
import { fingerprint, sameEnvironment } from '../harness/fingerprint.js'
import type { LoopEvent, MeasureStage } from './events.js'
import { gateOf, type Ledger, recordOf, runsDue, stepOf } from './ledger-state.js'
import type { LoopProject } from './loop-project.js'
import {
  judgeStage,
  type Measurement,
  type MeasurementStep,
  measuredPoint,
  nextStep,
} from './measurement.js'
import { openSides, type TimedSides } from './timed-sides.js'
import { inState, REFERENCE, type VariantState } from './variant.js'
import { digestOf } from './workspace.js'

/** Where a measurement stands when the call returns. Interim effects are not part of it: looking is not free. */
export interface MeasureProgress {
  readonly state: VariantState | 'budget-stop' | 'refused'
  readonly stage: string
  readonly pairsDone: number
  readonly pairsPlanned: number
  readonly why: string
}

/** What the measurement needs of the loop around it. */
export interface MeasureContext {
  readonly project: LoopProject
  record(event: LoopEvent): void
  ledger(): Ledger
  backendOf(id: string): Backend
  workspaceOf(id: string): string
  answers(script: readonly ScriptedRequest[]): Promise<unknown[][]>
  afterSettling(): void
}

export async function measureVariant(
  context: MeasureContext,
  id: string,
  maxMs: number,
): Promise<MeasureProgress> {
  const { record } = context
  const { spec } = inState(recordOf(context.ledger(), id).variant, 'measuring')
  const changed = changedWorkspace(context, id)
  if (changed !== undefined) return changed
  const deadline = performance.now() + maxMs
  // Refused before: whoever asks again may have quietened the machine.
  if (stepOf(context.ledger(), recordOf(context.ledger(), id)).do === 'refuse')
    startStage(context, id, 'pilot', gateOf(context.ledger(), spec).pilotPairs)
  const open = openOnce(context, id)
  try {
    for (;;) {
      const measurement = recordOf(context.ledger(), id).measurement!
      const step = nextStep(measurement, gateOf(context.ledger(), spec))
      const left = context.ledger().budget.runs - context.ledger().runsDriven
      if (left < runsDue(step)) return stopForBudget(context, id, runsDue(step))
      if (step.do === 'start') {
        startStage(context, id, step.stage, step.pairs)
      } else if (step.do === 'refuse') {
        return { ...progressOf(context, id), state: 'refused', why: `${step.why}. ${REFUSED}` }
      } else if (step.do === 'pair') {
        requireSameEnvironment(id, step.stage.environment)
        const failure = await runPair(context, id, step, await open(step.stage.stage === 'pilot'))
        if (failure !== undefined) return failure
      } else if (step.do === 'judge') {
        const verdict = judgeStage(
          measurement,
          step.stage,
          gateOf(context.ledger(), spec),
          step.look,
          true,
        )
        const { outcome, pairs, why } = verdict
        const { improvement } = verdict.evidence[0]!
        if (step.stage.stage === 'pilot') throw new TypeError('a pilot has no verdict')
        record({ event: 'judged', id, stage: step.stage.stage, pairs, outcome, improvement, why })
      } else {
        return settle(context, id, step, measurement)
      }
      if (performance.now() >= deadline && !isDecided(context, id)) return progressOf(context, id)
    }
  } finally {
    await open.close()
  }
}

const REFUSED =
  'Quieten the machine and measure again (a new pilot costs no error), or withdraw the variant with this reason; more pairs or a larger detectEffect need a new loop'

function startStage(context: MeasureContext, id: string, stage: MeasureStage, pairs: number): void {
  const seed = context.ledger().head
  context.record({ event: 'stage', id, stage, pairs, seed, environment: fingerprint() })
}

/** Runs both sides in their drawn order and journals them as one line; half a pair leaves no trace. */
async function runPair(
  context: MeasureContext,
  id: string,
  step: Extract<MeasurementStep, { do: 'pair' }>,
  sides: TimedSides,
): Promise<MeasureProgress | undefined> {
  const samples: Partial<Record<Side, RunSamples>> = {}
  for (const { side } of step.order) {
    const run = await sides.run(side)
    if ('samples' in run) {
      samples[side] = run.samples
      continue
    }
    if (side === 'baseline' || step.stage.stage === 'pilot')
      throw new HorizonError('ERR_DEPLOY_LOOP_BASELINE', 'the baseline failed under measurement', {
        field: recordOf(context.ledger(), id).variant.spec.against,
        expected: 'the outputs of the reference, every time',
        got: run.unequal,
        hint: 'A baseline that is not repeatable can gate nothing: fix it, or declare tolerances',
      })
    context.record({
      event: 'failed-verification',
      id,
      why: `under measurement: ${run.unequal}`.slice(0, 2000),
    })
    return progressOf(context, id)
  }
  const { stage } = step.stage
  const first = step.order[0]!.side
  context.record({
    event: 'pair',
    id,
    stage,
    pair: step.pair,
    first,
    baseline: samples.baseline!,
    candidate: samples.candidate!,
  })
  return undefined
}

function settle(
  context: MeasureContext,
  id: string,
  step: Extract<MeasurementStep, { do: 'accept' | 'reject' }>,
  measurement: Measurement,
): MeasureProgress {
  const changed = changedWorkspace(context, id)
  if (changed !== undefined) return changed
  if (step.do === 'accept') context.record({ event: 'accepted', id, ...measuredPoint(measurement) })
  else context.record({ event: 'rejected', id, why: step.why })
  context.afterSettling()
  return progressOf(context, id)
}

/** What is timed must be what was verified; so must be what it is compared with. */
function changedWorkspace(context: MeasureContext, id: string): MeasureProgress | undefined {
  const { variant, digest } = recordOf(context.ledger(), id)
  const { against } = variant.spec
  if (
    against !== REFERENCE &&
    digestOf(context.workspaceOf(against)) !== recordOf(context.ledger(), against).digest
  )
    throw new HorizonError(
      'ERR_DEPLOY_LOOP_BASELINE',
      'the accepted variant it builds on was changed',
      {
        field: against,
        expected: 'the workspace that was verified and accepted',
        hint: 'Restore it; to change it, propose a new variant',
      },
    )
  if (digestOf(context.workspaceOf(id)) === digest) return undefined
  context.record({
    event: 'failed-verification',
    id,
    why: 'the workspace changed after it was verified',
  })
  return progressOf(context, id)
}

/** Sessions are opened when the first pair needs them, once per kind of stage. */
function openOnce(context: MeasureContext, id: string) {
  let sides: TimedSides | undefined
  let forPilot: boolean | undefined
  const { against } = recordOf(context.ledger(), id).variant.spec
  const open = async (pilot: boolean): Promise<TimedSides> => {
    if (sides !== undefined && forPilot === pilot) return sides
    await sides?.close()
    const expected = await context.answers(context.project.measureScript)
    const candidate = pilot ? undefined : context.backendOf(id)
    sides = await openSides(context.project, expected, context.backendOf(against), candidate)
    forPilot = pilot
    return sides
  }
  return Object.assign(open, { close: async () => await sides?.close() })
}

function isDecided(context: MeasureContext, id: string): boolean {
  const { measurement, variant } = recordOf(context.ledger(), id)
  const step = nextStep(measurement!, gateOf(context.ledger(), variant.spec))
  return ['accept', 'reject', 'refuse', 'judge'].includes(step.do)
}

/** Before a stage that does not fit is begun: half of one is evidence of nothing. */
function stopForBudget(context: MeasureContext, id: string, due: number): MeasureProgress {
  const { budget, runsDriven } = context.ledger()
  const detail = `${budget.runs} runs allowed, ${runsDriven} driven, ${due} due for ${id}`
  context.record({ event: 'stopped', reason: 'budget', detail })
  return {
    ...progressOf(context, id),
    state: 'budget-stop',
    why: `the budget of runs does not hold what is due: ${detail}`,
  }
}

function requireSameEnvironment(id: string, before: ReturnType<typeof fingerprint>): void {
  const now = fingerprint()
  if (sameEnvironment(before, now)) return
  throw new HorizonError(
    'ERR_DEPLOY_LOOP_ENVIRONMENT',
    'the machine is not the one the stage began on',
    {
      field: id,
      expected: `${before.platform}, ${before.cores} x ${before.cpu}, Node ${before.node}`,
      got: `${now.platform}, ${now.cores} x ${now.cpu}, Node ${now.node}`,
      hint: 'Go on there, or withdraw the variant and propose it again here',
    },
  )
}

function progressOf(context: MeasureContext, id: string): MeasureProgress {
  const { variant, measurement, why } = recordOf(context.ledger(), id)
  const stage = measurement?.stages.at(-1)
  return {
    state: variant.state,
    stage: stage?.stage ?? 'none',
    pairsDone: stage?.done.length ?? 0,
    pairsPlanned: stage?.pairs ?? 0,
    why,
  }
}
