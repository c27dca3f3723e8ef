/**
 * @module
 * The state that the journal's lines amount to, and what may be read off it.
 */
import { HorizonError } from '../../core/errors.js'
import type { GateDeclaration } from '../gate/declaration.js'
import type { EventOf } from './events.js'
import {
  type MeasuredPoint,
  type Measurement,
  type MeasurementStep,
  nextStep,
} from './measurement.js'
import type { Variant, VariantSpec } from './variant.js'

export interface VariantRecord {
  readonly variant: Variant
  /** Times it went into implementation. */
  readonly attempts: number
  /** Digest of the workspace that passed verification. */
  readonly digest: string | null
  readonly measurement: Measurement | null
  /** Why it is where it is: a difference, a verdict, a reason. */
  readonly why: string
  readonly point: MeasuredPoint | null
}

export interface Ledger {
  readonly name: string
  readonly gates: EventOf<'opened'>['gates']
  readonly budget: EventOf<'opened'>['budget']
  readonly fixed: string
  readonly runsDriven: number
  /** In order of proposal. */
  readonly variants: ReadonlyMap<string, VariantRecord>
  /** Variants measured so far, by family. */
  readonly measured: ReadonlyMap<string, number>
  readonly stopped: EventOf<'stopped'> | null
  /** Sum of the last line: seeds come from it. */
  readonly head: string
  readonly lines: number
}

/** The gate of a variant's target. */
export function gateOf(ledger: Ledger, spec: VariantSpec): GateDeclaration {
  return ledger.gates[spec.target]
}

/** Error is counted per target and budget: among those a winner is picked. */
export function familyOf(spec: VariantSpec): string {
  return `${spec.target}@${spec.gpus}`
}

export function recordOf(ledger: Ledger, id: string): VariantRecord {
  const record = ledger.variants.get(id)
  if (record !== undefined) return record
  throw new HorizonError('ERR_DEPLOY_LOOP_UNKNOWN', 'there is no such variant', {
    field: 'variant',
    expected: [...ledger.variants.keys()].slice(0, 20).join(', ') || 'a variant that was proposed',
    got: id,
  })
}

/** What the measurement of a variant that is being measured needs next. */
export function stepOf(ledger: Ledger, record: VariantRecord): MeasurementStep {
  return nextStep(record.measurement!, gateOf(ledger, record.variant.spec))
}

/** True when less than a pair is left, or a stage that is due does not fit. */
export function lacksRuns(ledger: Ledger): boolean {
  const left = ledger.budget.runs - ledger.runsDriven
  return [...ledger.variants.values()]
    .filter((record) => record.variant.state === 'measuring')
    .some((record) => left < runsDue(stepOf(ledger, record)))
}

/** Runs that the budget must still hold for a step: all of a stage before it begins, then pair by pair. */
export function runsDue(step: MeasurementStep): number {
  return step.do === 'start' ? 2 * step.pairs : step.do === 'pair' ? 2 : 0
}
