/**
 * @module
 * What is true now, folded from the journal's lines. The same function accepts a new event and replays an old one, so a file
 * can never hold what the program would not have done: no accepted variant without its verified equality and its runs.
 */
import { HorizonError } from '../../core/errors.js'
import type { EventOf, LoopEvent } from './events.js'
import type { JournalLine } from './journal.js'
import {
  familyOf,
  gateOf,
  type Ledger,
  lacksRuns,
  recordOf,
  stepOf,
  type VariantRecord,
} from './ledger-state.js'
import { judgeStage, measuredPoint, requireStep, type StageRecord } from './measurement.js'
import {
  advance,
  type NextState,
  REFERENCE,
  SETTLED,
  type VariantSpec,
  type VariantState,
} from './variant.js'

/** Folds a whole journal. */
export function foldJournal(lines: readonly JournalLine[]): Ledger | undefined {
  return lines.reduce<Ledger | undefined>((ledger, line) => foldLine(ledger, line), undefined)
}

/** Checks and applies one line. Throws when it cannot have happened. */
export function foldLine(ledger: Ledger | undefined, line: JournalLine): Ledger {
  const { event } = line
  if (ledger === undefined) {
    if (event.event !== 'opened') throw impossible(line, "'opened' as the first line")
    const { name, gates, budget, fixed } = event
    return {
      name,
      gates,
      budget,
      fixed,
      runsDriven: 0,
      variants: new Map(),
      measured: new Map(),
      stopped: null,
      head: line.sum,
      lines: 1,
    }
  }
  const next = applyEvent(ledger, event, line)
  return { ...next, head: line.sum, lines: ledger.lines + 1 }
}

function applyEvent(ledger: Ledger, event: LoopEvent, line: JournalLine): Ledger {
  switch (event.event) {
    case 'opened':
      throw impossible(line, "'opened' only once")
    case 'proposed':
      return propose(ledger, event.variant)
    case 'stopped': {
      const open = [...ledger.variants.values()].filter(
        (record) => !SETTLED.includes(record.variant.state),
      )
      if (event.reason === 'complete' && open.length > 0)
        throw impossible(line, `every variant settled (open: ${open[0]!.variant.spec.id})`)
      if (event.reason === 'budget' && !lacksRuns(ledger))
        throw impossible(line, 'a budget that the stage in hand or the next pair does not fit')
      return { ...ledger, stopped: event }
    }
    case 'budget':
      return { ...ledger, budget: event.budget, stopped: null }
    case 'stage':
    case 'pair':
    case 'judged':
      return measure(ledger, event, line)
    default:
      return transition(ledger, event, line)
  }
}

function propose(ledger: Ledger, spec: VariantSpec): Ledger {
  const refuse = (field: string, expected: string, got: unknown): never => {
    throw new HorizonError('ERR_DEPLOY_LOOP_PROPOSAL', 'the proposal does not fit', {
      field,
      expected,
      got,
    })
  }
  if (ledger.variants.has(spec.id)) refuse('id', 'a name that is not taken', spec.id)
  for (const part of spec.parts)
    if (!ledger.variants.has(part)) refuse('parts', 'variants that were proposed', part)
  if (spec.against !== REFERENCE && ledger.variants.get(spec.against)?.variant.state !== 'accepted')
    refuse('against', "'reference' or an accepted variant", spec.against)
  const record: VariantRecord = {
    variant: { spec, state: 'proposed' },
    attempts: 0,
    digest: null,
    measurement: null,
    why: spec.finding.why,
    point: null,
  }
  return { ...ledger, stopped: null, variants: new Map(ledger.variants).set(spec.id, record) }
}

type Transition = Exclude<
  LoopEvent,
  { event: 'opened' | 'proposed' | 'stopped' | 'budget' | 'stage' | 'pair' | 'judged' }
>

function transition(ledger: Ledger, event: Transition, line: JournalLine): Ledger {
  const record = recordOf(ledger, event.id)
  const { spec } = record.variant
  const to: VariantState = event.event === 'verified' ? 'measuring' : event.event
  const moved = { ...record, variant: advance(record.variant, to as NextState<VariantState>) }
  const put = (change: Partial<VariantRecord>, more: Partial<Ledger> = {}): Ledger => ({
    ...ledger,
    ...more,
    variants: new Map(ledger.variants).set(spec.id, { ...moved, ...change }),
  })
  switch (event.event) {
    case 'implementing':
      return put({ attempts: record.attempts + 1, why: '' })
    case 'verifying':
      return put({ digest: event.digest, why: '' })
    case 'verified': {
      if (event.digest !== record.digest) throw impossible(line, `digest ${record.digest}`)
      // The price is paid when the timing begins, whatever comes of it.
      const family = familyOf(spec)
      const familyIndex = ledger.measured.get(family) ?? 0
      const measured = new Map(ledger.measured).set(family, familyIndex + 1)
      return put(
        { measurement: { familyIndex, expectedGain: spec.expectedGain, stages: [] } },
        { measured },
      )
    }
    case 'failed-verification':
      return put({ why: event.why, digest: null, measurement: null })
    case 'accepted': {
      requireStep(stepOf(ledger, record), 'accept', spec.id)
      const point = measuredPoint(record.measurement!)
      if (
        point.latencyMs !== event.latencyMs ||
        point.ratePerSec !== event.ratePerSec ||
        point.realTimeFactor !== event.realTimeFactor
      )
        throw impossible(
          line,
          `the point its runs give (${point.latencyMs} ms, ${point.ratePerSec}/s)`,
        )
      return put({ why: 'confirmed on fresh runs', point })
    }
    case 'rejected':
      requireStep(stepOf(ledger, record), 'reject', spec.id)
      return put({ why: event.why })
    case 'withdrawn':
      return put({ why: event.reason })
  }
}

function measure(
  ledger: Ledger,
  event: EventOf<'stage' | 'pair' | 'judged'>,
  line: JournalLine,
): Ledger {
  const record = recordOf(ledger, event.id)
  if (record.variant.state !== 'measuring')
    throw impossible(line, 'a variant that is being measured')
  const { measurement } = record
  const step = stepOf(ledger, record)
  const put = (stages: readonly StageRecord[], more: Partial<Ledger> = {}): Ledger => ({
    ...ledger,
    ...more,
    variants: new Map(ledger.variants).set(event.id, {
      ...record,
      measurement: { ...measurement!, stages },
    }),
  })
  const earlier = measurement!.stages.slice(0, -1)
  if (event.event === 'stage') {
    // After a refusal the pilot is made anew; the old one counts no more.
    const anew = step.do === 'refuse'
    const { pilotPairs } = gateOf(ledger, record.variant.spec)
    const due = anew ? ({ do: 'start', stage: 'pilot', pairs: pilotPairs } as const) : step
    if (
      due.do !== 'start' ||
      due.stage !== event.stage ||
      due.pairs !== event.pairs ||
      event.seed !== ledger.head
    )
      throw impossible(
        line,
        due.do === 'start'
          ? `stage ${due.stage} of ${due.pairs} pairs, seed ${ledger.head}`
          : due.do,
      )
    const { stage, pairs, seed, environment } = event
    const before = anew ? [] : measurement!.stages
    return put([...before, { stage, pairs, seed, environment, done: [], looks: [] }])
  }
  if (event.event === 'pair') {
    if (
      step.do !== 'pair' ||
      step.stage.stage !== event.stage ||
      step.pair !== event.pair ||
      step.order[0]!.side !== event.first
    )
      throw impossible(
        line,
        step.do === 'pair' ? `pair ${step.pair}, ${step.order[0]!.side} first` : step.do,
      )
    const { baseline, candidate } = event
    const done = [...step.stage.done, { baseline, candidate }]
    return put([...earlier, { ...step.stage, done }], { runsDriven: ledger.runsDriven + 2 })
  }
  if (
    step.do !== 'judge' ||
    step.stage.stage !== event.stage ||
    step.stage.done.length !== event.pairs
  )
    throw impossible(line, step.do)
  const verdict = judgeStage(
    measurement!,
    step.stage,
    gateOf(ledger, record.variant.spec),
    step.look,
    false,
  )
  if (verdict.outcome !== event.outcome || verdict.evidence[0]!.improvement !== event.improvement)
    throw impossible(line, `the verdict its runs give (${verdict.outcome})`)
  const { pairs, outcome, improvement } = event
  return put([
    ...earlier,
    { ...step.stage, looks: [...step.stage.looks, { pairs, outcome, improvement }] },
  ])
}

function impossible(line: JournalLine, expected: string): HorizonError {
  return new HorizonError(
    'ERR_DEPLOY_LOOP_EVIDENCE',
    'the journal holds what cannot have happened',
    {
      field: `line ${line.line}`,
      expected,
      got: line.event.event,
      hint: 'Restore the file from version control',
    },
  )
}
