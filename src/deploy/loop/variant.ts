/**
 * @module
 * A variant and its life. The table below is the whole truth about what may follow what: the types are computed from it, so
 * an illegal step does not compile, and `advance` checks it again for what comes out of a file.
 */
import { HorizonError } from '../../core/errors.js'

/** What may follow each state. Equality is verified before anything is timed: `measuring` is reached from `verifying` alone. */
export const NEXT_STATES = Object.freeze({
  proposed: ['implementing', 'withdrawn'],
  implementing: ['verifying', 'withdrawn'],
  verifying: ['failed-verification', 'measuring', 'withdrawn'],
  'failed-verification': ['implementing', 'withdrawn'],
  // Back to failed-verification when outputs differ, or the workspace changed, once it is being timed.
  measuring: ['accepted', 'rejected', 'failed-verification', 'withdrawn'],
  accepted: [],
  rejected: [],
  withdrawn: [],
} as const)

export type VariantState = keyof typeof NEXT_STATES
export type NextState<S extends VariantState> = (typeof NEXT_STATES)[S][number]

/** States in which a variant is settled: the loop ends when all are. */
export const SETTLED: readonly VariantState[] = ['accepted', 'rejected', 'withdrawn']

/** What a deployment is for. `both` must improve latency and rate. */
export type Target = 'latency' | 'rate' | 'both'

/** The plain program that every variant must equal. */
export const REFERENCE = 'reference'

/** What is fixed when a variant is proposed. */
export interface VariantSpec {
  /** Lower case, digits and dashes; names the workspace. */
  readonly id: string
  readonly title: string
  /** The analysis finding that makes it legal, and the rule that found it. */
  readonly finding: { readonly id: string; readonly rule: string; readonly why: string }
  /** The node, edge or resource whose load it is meant to relieve. */
  readonly bottleneck: string
  readonly target: Target
  /** GPU budget it belongs to. */
  readonly gpus: number
  /** What it is measured against: the reference, or an accepted variant it builds on. */
  readonly against: string
  /** Variants it combines; empty for a single transformation. */
  readonly parts: readonly string[]
  readonly source: 'analysis' | 'combination' | 'agent'
  /** Predicted share of time saved (0.3: 30 % less), for the ranking only; null when nobody predicted. */
  readonly expectedGain: number | null
}

/** A variant in a known state. */
export interface Variant<S extends VariantState = VariantState> {
  readonly spec: VariantSpec
  readonly state: S
}

/** The variant one step further. */
export function advance<S extends VariantState, T extends NextState<S>>(
  variant: Variant<S>,
  to: T,
): Variant<T & VariantState> {
  requireNext(variant.spec.id, variant.state, to)
  return { spec: variant.spec, state: to as T & VariantState }
}

/** Narrows a variant to one of the states given, or explains what its state allows. */
export function inState<S extends VariantState>(
  variant: Variant,
  ...states: readonly S[]
): Variant<S> {
  if ((states as readonly VariantState[]).includes(variant.state)) return variant as Variant<S>
  throw new HorizonError('ERR_DEPLOY_LOOP_STATE', 'the variant is in another state', {
    field: variant.spec.id,
    expected: states.join(' or '),
    got: variant.state,
    hint: hintFor(variant.state),
  })
}

/** Refuses what the table does not hold. */
export function requireNext(id: string, from: VariantState, to: VariantState): void {
  if ((NEXT_STATES[from] as readonly VariantState[]).includes(to)) return
  throw new HorizonError('ERR_DEPLOY_LOOP_STATE', 'illegal transition', {
    field: id,
    expected:
      NEXT_STATES[from].length === 0 ? `nothing after ${from}` : NEXT_STATES[from].join(' or '),
    got: to,
    hint: hintFor(from),
  })
}

function hintFor(state: VariantState): string {
  switch (state) {
    case 'proposed':
      return "Record step 'implement' first: it makes the workspace"
    case 'implementing':
      return "Put the implementation into its workspace, then record step 'verify'"
    case 'verifying':
      return "Record step 'verify' again: it was interrupted"
    case 'failed-verification':
      return "Record step 'implement' to repair it, or 'withdraw' with a reason"
    case 'measuring':
      return "Record step 'measure' until there is a verdict"
    default:
      return 'It is settled; propose a new variant instead'
  }
}
