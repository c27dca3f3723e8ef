/**
 * @module
 * What must be declared before anything is measured: the metrics, the smallest improvement worth having, the error a whole
 * family of candidates may have, the number of pairs. Written once into the journal; a verdict is computed from it and from
 * the measured runs alone.
 */
import { z } from 'zod'
import { HorizonError } from '../../core/errors.js'
import { isPooled, type Metric, metricName, samplesNeeded } from './metric.js'

const metricSchema = z.strictObject({
  sample: z.enum(['firstOutputMs', 'gapMs', 'ratePerSec']),
  statistic: z.enum(['median', 'run-p95', 'run-p99', 'p95', 'p99']),
})

/** A metric that must be shown not to get worse by more than `margin`. */
export const guardSchema = z.strictObject({
  metric: metricSchema,
  /** Relative loss that is tolerated, as a share: 0.1 lets a time grow by a ninth, a rate fall by a tenth. */
  margin: z.number().gt(0).lt(1),
})

/** Schema of a gate declaration, with the defaults the loop starts from. */
export const gateSchema = z
  .strictObject({
    /** Each must improve by more than `minimumEffect`. */
    primary: z.array(metricSchema).min(1).max(4),
    /** Each must be shown not to be harmed; a guard that cannot be shown leaves the verdict inconclusive. */
    guards: z.array(guardSchema).max(8).default([]),
    /** Share by which a time must shrink at least (a rate must grow as if its time shrank). Below it is noise. */
    minimumEffect: z.number().gte(0).lt(1).default(0.02),
    /** The improvement the number of pairs is sized to detect. */
    detectEffect: z.number().gt(0).lt(1).default(0.1),
    /** Chance, at most, that one false candidate or more of a family is accepted. */
    familyAlpha: z.number().gt(0).lt(0.5).default(0.05),
    /** Chance, at most, that a false candidate passes the screening (it then meets the confirmation). */
    screenAlpha: z.number().gt(0).lt(0.5).default(0.05),
    /** Wanted chance of passing one stage for a candidate that improves by `detectEffect`. */
    power: z.number().gte(0.5).lt(1).default(0.95),
    /** Pairs a pilot begins with; noise that asks for more than four times as many makes it longer. */
    pilotPairs: z.int().min(5).max(200).default(10),
    minPairs: z.int().min(5).max(4000).default(10),
    maxPairs: z.int().min(5).max(4000).default(60),
    /** Shares of the pairs after which a stage may stop, and the share of its error each look may spend. Sum of `spend`: 1. */
    looks: z
      .array(z.strictObject({ at: z.number().gt(0).lte(1), spend: z.number().gt(0).lte(1) }))
      .min(1)
      .max(8)
      .default([{ at: 1, spend: 1 }]),
    /** Random relabellings of a tail test; raised where the level needs a finer p-value. */
    relabellings: z.int().min(199).max(20_000).default(1999),
  })
  .superRefine((gate, context) => {
    const issue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (gate.detectEffect <= gate.minimumEffect)
      issue(
        'detectEffect',
        'must be larger than minimumEffect: no number of pairs shows a difference of zero',
      )
    if (gate.minPairs > gate.maxPairs) issue('minPairs', 'must not exceed maxPairs')
    const spent = gate.looks.reduce((sum, look) => sum + look.spend, 0)
    if (Math.abs(spent - 1) > 1e-9)
      issue('looks', `the shares of error spent must add up to 1, not ${spent}`)
    const ascending = gate.looks.every((look, i) => i === 0 || look.at > gate.looks[i - 1]!.at)
    if (!ascending || gate.looks.at(-1)!.at !== 1) issue('looks', 'must ascend and end at 1')
  })

/** A complete declaration. */
export type GateDeclaration = z.infer<typeof gateSchema>

/** What a person or an agent has to write: the metrics; the rest has defaults. */
export type GateInput = z.input<typeof gateSchema>

/** Every metric the declaration judges, primary first. */
export function judgedMetrics(gate: GateDeclaration): readonly Metric[] {
  return [...gate.primary, ...gate.guards.map((guard) => guard.metric)]
}

/** Refuses a gate whose tails can never have enough samples, before anybody has worked for it. */
export function requireEnoughRequests(gate: GateDeclaration, requestsPerRun: number): void {
  for (const metric of judgedMetrics(gate)) {
    // The number of outputs, and so of gaps, is not known before a run.
    if (metric.sample === 'gapMs') continue
    const needed = samplesNeeded(metric.statistic)
    const got = requestsPerRun * (isPooled(metric.statistic) ? gate.pilotPairs : 1)
    if (got >= needed) continue
    throw new HorizonError('ERR_DEPLOY_GATE_SHORT_TAIL', 'this gate needs more requests per run', {
      field: metricName(metric),
      expected: `at least ${needed} samples ${isPooled(metric.statistic) ? 'over the pilot' : 'in every run'}`,
      got,
      hint: `A run has ${requestsPerRun} requests and the pilot ${gate.pilotPairs} pairs: lengthen 'measure', raise 'pilotPairs', or judge the median; once declared, only a loop that has measured nothing may be begun again`,
    })
  }
}
