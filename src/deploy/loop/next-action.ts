/**
 * @module
 * What to do next, in words and as data: finish what is begun, then the most promising proposal.
 */
import { type Ledger, stepOf, type VariantRecord } from './ledger-state.js'
import { rankOpen } from './rank.js'
import type { VariantState } from './variant.js'

/** The step to record next for a variant; `nothing` when the loop has stopped. */
export type NextAction =
  | {
      readonly do: 'implement' | 'verify' | 'measure'
      readonly variant: string
      readonly why: string
    }
  | { readonly do: 'nothing'; readonly why: string }
  | { readonly do: 'propose'; readonly why: string }

/** Nearest to a verdict first. */
const URGENCY: Readonly<
  Partial<Record<VariantState, { rank: number; do: 'implement' | 'verify' | 'measure' }>>
> = Object.freeze({
  measuring: { rank: 0, do: 'measure' },
  verifying: { rank: 1, do: 'verify' },
  implementing: { rank: 2, do: 'verify' },
  'failed-verification': { rank: 3, do: 'implement' },
  proposed: { rank: 4, do: 'implement' },
})

export function nextAction(ledger: Ledger): NextAction {
  if (ledger.stopped !== null)
    return {
      do: 'nothing',
      why: `the loop stopped: ${ledger.stopped.reason} (${ledger.stopped.detail})`,
    }
  const [best] = rankOpen(ledger)
    .map((ranked) => ({ ranked, record: ledger.variants.get(ranked.id)! }))
    .map((item) => ({ ...item, refused: refusalOf(ledger, item.record) }))
    // The ranking is by promise; a stable sort keeps it within one urgency. What was refused waits for everything else.
    .sort((a, b) => urgencyOf(a) - urgencyOf(b))
  if (best === undefined)
    return { do: 'propose', why: 'no variant was proposed yet: seed the queue from the analysis' }
  const { variant, why } = best.record
  if (best.refused !== undefined)
    return {
      do: 'measure',
      variant: best.ranked.id,
      why: `${best.refused}; on a quieter machine measure it again, else withdraw it with this reason`,
    }
  const reason = variant.state === 'failed-verification' ? `it failed: ${why}` : best.ranked.why
  return {
    do: URGENCY[variant.state]!.do,
    variant: best.ranked.id,
    why: `${variant.state}; ${reason}`,
  }
}

/** Why the pilot of a variant refused its stages, or undefined. */
function refusalOf(ledger: Ledger, record: VariantRecord): string | undefined {
  if (record.variant.state !== 'measuring') return undefined
  const step = stepOf(ledger, record)
  return step.do === 'refuse' ? step.why : undefined
}

function urgencyOf(item: {
  readonly record: VariantRecord
  readonly refused: string | undefined
}): number {
  return item.refused === undefined ? URGENCY[item.record.variant.state]!.rank : LAST
}

const LAST = 9
