/**
 * @module
 * The lines of the journal. Each is an event that happened; what is true now is folded from them (`ledger.ts`).
 */
import { z } from 'zod'
import { gateSchema } from '../gate/declaration.js'

/** Names of variants: they become folder names, so nothing else gets in. */
export const variantId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,47}$/, 'lower-case letters, digits and dashes, at most 48')
  .refine((id) => id !== 'reference', "'reference' is the name of the plain program")

const text = (max: number) => z.string().min(1).max(max)
const digest = z.string().regex(/^[0-9a-f]{64}$/)
/** Most samples of one kind that a run may leave in the journal. */
export const MAX_SAMPLES = 100_000

const samples = z.array(z.number().nonnegative()).max(MAX_SAMPLES).readonly()
const runSamples = z.strictObject({
  firstOutputMs: samples,
  gapMs: samples,
  ratePerSec: samples,
  realTimeFactor: z.number().nonnegative().optional(),
})
const stage = z.enum(['pilot', 'screen', 'confirm'])
const fingerprint = z.strictObject({
  platform: z.string(),
  cpu: z.string(),
  cores: z.int(),
  memoryGiB: z.number(),
  node: z.string(),
  load1: z.number(),
})

/** What a variant is, as proposed. */
export const variantSpecSchema = z.strictObject({
  id: variantId,
  title: text(200),
  finding: z.strictObject({ id: text(200), rule: text(100), why: text(1000) }),
  bottleneck: text(200),
  target: z.enum(['latency', 'rate', 'both']),
  gpus: z.int().min(1).max(4096),
  against: z.string().min(1).max(48),
  parts: z.array(variantId).max(16).readonly(),
  source: z.enum(['analysis', 'combination', 'agent']),
  expectedGain: z.number().gt(-10).lt(1).nullable(),
})

/** Limits of the loop, checked before anything is driven. */
export const budgetSchema = z.strictObject({
  /** Runs (of either side) that may be driven in all. */
  runs: z.int().min(1).max(1_000_000),
})

export const eventSchema = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('opened'),
    /** Grows when the same runs would lead to other verdicts or stages: an older journal cannot be gone on with. */
    format: z.literal(2),
    name: text(200),
    gates: z.strictObject({ latency: gateSchema, rate: gateSchema, both: gateSchema }),
    budget: budgetSchema,
    /** Digest of what must not move while variants are compared: inputs, tolerances, the reference. */
    fixed: digest,
  }),
  z.strictObject({ event: z.literal('proposed'), variant: variantSpecSchema }),
  z.strictObject({ event: z.literal('implementing'), id: variantId }),
  z.strictObject({ event: z.literal('verifying'), id: variantId, digest }),
  z.strictObject({
    event: z.literal('verified'),
    id: variantId,
    digest,
    requests: z.int().positive(),
    outputs: z.int().positive(),
  }),
  z.strictObject({ event: z.literal('failed-verification'), id: variantId, why: text(2000) }),
  z.strictObject({
    event: z.literal('stage'),
    id: variantId,
    stage,
    pairs: z.int().positive(),
    /** Order of the runs and relabellings of the tests follow from it. */
    seed: z.string(),
    environment: fingerprint,
  }),
  z.strictObject({
    event: z.literal('pair'),
    id: variantId,
    stage,
    pair: z.int().nonnegative(),
    first: z.enum(['baseline', 'candidate']),
    baseline: runSamples,
    candidate: runSamples,
  }),
  z.strictObject({
    event: z.literal('judged'),
    id: variantId,
    stage: z.enum(['screen', 'confirm']),
    pairs: z.int().positive(),
    outcome: z.enum(['accept', 'reject', 'inconclusive']),
    /** Estimate on the first primary metric, as the share of time saved. */
    improvement: z.number(),
    why: text(2000),
  }),
  z.strictObject({
    event: z.literal('accepted'),
    id: variantId,
    /** Medians of the confirmation's runs of the candidate. */
    latencyMs: z.number().nonnegative(),
    ratePerSec: z.number().nonnegative(),
    realTimeFactor: z.number().nonnegative().optional(),
  }),
  z.strictObject({ event: z.literal('rejected'), id: variantId, why: text(2000) }),
  z.strictObject({ event: z.literal('withdrawn'), id: variantId, reason: text(1000) }),
  z.strictObject({
    event: z.literal('stopped'),
    reason: z.enum(['complete', 'budget']),
    detail: text(500),
  }),
  z.strictObject({ event: z.literal('budget'), budget: budgetSchema, reason: text(500) }),
])

export type LoopEvent = z.infer<typeof eventSchema>
export type EventOf<K extends LoopEvent['event']> = Extract<LoopEvent, { event: K }>
export type MeasureStage = z.infer<typeof stage>
