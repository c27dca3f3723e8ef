/**
 * @module
 * What to try next, and what the outcomes suggest. Pure functions of the ledger: the order changes when a result arrives,
 * and is never stored. Scores order the work; no score ever accepts anything.
 */
import { createHash } from 'node:crypto'
import type { Ledger, VariantRecord } from './ledger-state.js'
import { REFERENCE, SETTLED, type Target, type VariantSpec } from './variant.js'

export interface RankedVariant {
  readonly id: string
  /** Expected share of time saved, after what is known of its rule and its bottleneck. */
  readonly score: number
  readonly why: string
}

/** Gain assumed of a variant that nobody predicted; also the weight of what is believed of a rule before its first result. */
export const PRIOR_GAIN = 0.1

/** Open variants, the most promising first; ties by order of proposal. */
export function rankOpen(ledger: Ledger): readonly RankedVariant[] {
  const settled = [...ledger.variants.values()].filter((record) =>
    ['accepted', 'rejected'].includes(record.variant.state),
  )
  return [...ledger.variants.values()]
    .filter((record) => !SETTLED.includes(record.variant.state))
    .map((record) => score(record, settled))
    .sort((a, b) => b.score - a.score)
}

function score(record: VariantRecord, settled: readonly VariantRecord[]): RankedVariant {
  const { spec } = record.variant
  const expected = Math.max(0, spec.expectedGain ?? PRIOR_GAIN)
  // A rule that kept less than it promised is believed less, and the other way round.
  const sameRule = settled.filter((other) => other.variant.spec.finding.rule === spec.finding.rule)
  const promised = sum(sameRule, (other) =>
    Math.max(0, other.variant.spec.expectedGain ?? PRIOR_GAIN),
  )
  const kept = sum(sameRule, (other) => Math.max(0, realised(other)))
  const trust = (PRIOR_GAIN + kept) / (PRIOR_GAIN + promised)
  // A bottleneck that an accepted variant of the same budget relieved has moved.
  const relieved = settled.filter(
    (other) =>
      other.variant.state === 'accepted' &&
      other.variant.spec.bottleneck === spec.bottleneck &&
      other.variant.spec.gpus === spec.gpus &&
      !spec.parts.includes(other.variant.spec.id),
  )
  const left = relieved.reduce((product, other) => product * (1 - Math.max(0, realised(other))), 1)
  return {
    id: spec.id,
    score: Number((expected * trust * left).toFixed(4)),
    why: `expected ${percent(expected)}, rule ${spec.finding.rule} kept ${percent(trust)} of its promises over ${sameRule.length}, ${percent(left)} of its bottleneck is left`,
  }
}

/** Improvement that the last look of the last stage saw; 0 for a variant that was never judged. */
export function realised(record: VariantRecord): number {
  return record.measurement?.stages.at(-1)?.looks.at(-1)?.improvement ?? 0
}

/** Combinations that an accepted variant makes possible: with every other accepted one by another rule, once. */
export function combinationsWith(ledger: Ledger, id: string): readonly VariantSpec[] {
  const record = ledger.variants.get(id)
  if (record?.variant.state !== 'accepted') return []
  const { spec } = record.variant
  const mine = lineage(ledger, spec)
  return [...ledger.variants.values()].flatMap((other): VariantSpec[] => {
    const partner = other.variant.spec
    if (other.variant.state !== 'accepted' || partner.finding.rule === spec.finding.rule) return []
    // What one already builds on is no combination.
    if (mine.has(partner.id) || lineage(ledger, partner).has(spec.id)) return []
    const parts = [spec.id, partner.id].sort()
    const known = [...ledger.variants.values()].some(
      (item) =>
        item.variant.spec.parts.length === 2 &&
        parts.every((part) => item.variant.spec.parts.includes(part)),
    )
    if (known) return []
    const against = realised(record) >= realised(other) ? spec : partner
    return [
      {
        id: combinedId(parts),
        title: `${spec.title} with ${partner.title}`.slice(0, 200),
        finding: {
          id: `${spec.finding.id}+${partner.finding.id}`.slice(0, 200),
          rule: 'combination',
          why: `${spec.finding.why}; and ${partner.finding.why}`.slice(0, 1000),
        },
        bottleneck: partner.bottleneck,
        target: combinedTarget(spec.target, partner.target),
        gpus: Math.max(spec.gpus, partner.gpus),
        against: against.id,
        parts,
        source: 'combination',
        expectedGain: Math.min(0.99, Math.max(0, Math.min(realised(record), realised(other)))),
      },
    ]
  })
}

/** Accepted variants no other accepted one of at most `gpus` GPUs beats in latency and rate at once. */
export function paretoFront(ledger: Ledger, gpus: number): readonly VariantRecord[] {
  const points = [...ledger.variants.values()].filter(
    (record) => record.point !== null && record.variant.spec.gpus <= gpus,
  )
  const beats = (a: VariantRecord, b: VariantRecord): boolean =>
    a.point!.latencyMs <= b.point!.latencyMs &&
    a.point!.ratePerSec >= b.point!.ratePerSec &&
    (a.point!.latencyMs < b.point!.latencyMs || a.point!.ratePerSec > b.point!.ratePerSec)
  return points
    .filter((point) => !points.some((other) => beats(other, point)))
    .sort((a, b) => a.point!.latencyMs - b.point!.latencyMs)
}

/** The variant, what it combines, and what it was measured against, all the way down. */
function lineage(ledger: Ledger, spec: VariantSpec): Set<string> {
  const seen = new Set<string>([spec.id])
  const queue = [...spec.parts, spec.against]
  while (queue.length > 0) {
    const id = queue.pop()!
    if (id === REFERENCE || seen.has(id)) continue
    seen.add(id)
    const next = ledger.variants.get(id)?.variant.spec
    if (next !== undefined) queue.push(...next.parts, next.against)
  }
  return seen
}

function combinedTarget(a: Target, b: Target): Target {
  return a === b ? a : 'both'
}

function combinedId(parts: readonly string[]): string {
  const name = parts.join('-with-')
  if (name.length <= 48) return name
  const tag = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, 39)}-${tag}`
}

function sum(records: readonly VariantRecord[], of: (record: VariantRecord) => number): number {
  return records.reduce((total, record) => total + of(record), 0)
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}
