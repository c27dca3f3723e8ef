/**
 * @module
 * The readings of the paper's long-path cap (sections 4.3 and 4.5, Algorithm 1). It bounds "prefills" in Algorithm 1, keeps bursts from
 * "occupying shared-stage slots" and from "activating too many downstream generators" in section 4.3, and "protected requests remain
 * exempt" without saying until when. Each combination is a case; `AS_MEANT` is the one chosen on figure 8's four quoted points.
 */
import { type LongPathCapOptions, literalPolicy } from '../../policies/index.js'
import type { PolicyCase } from '../policy-case.js'

export interface LiteralReading {
  readonly name: string
  readonly cap: number
  readonly counts: NonNullable<LongPathCapOptions['counts']>
  readonly protected: NonNullable<LongPathCapOptions['protected']>
  readonly update: 'step' | 'cycle'
}

const COUNTS = [
  { counts: 'prefill', cap: 2 },
  { counts: 'shared-stage', cap: 2 },
  { counts: 'in-flight', cap: 2 },
  { counts: 'in-flight', cap: 1 },
] as const

export const LITERAL_READINGS: readonly LiteralReading[] = COUNTS.flatMap(({ counts, cap }) =>
  (['exempt', 'until-overdue', 'limited'] as const).flatMap((urgent) =>
    (['step', 'cycle'] as const).map((update) => ({
      name: `literal/${counts}-${cap}/${urgent}/${update}`,
      counts,
      cap,
      protected: urgent,
      update,
    })),
  ),
)

export const AS_MEANT = 'literal/in-flight-1/limited/step'

export const READING_CASES: readonly PolicyCase[] = LITERAL_READINGS.map(
  ({ name, counts, cap, protected: urgent, update }) => ({
    name,
    about: `the paper’s system: the cap of ${cap} counts ${counts}, protected requests are ${urgent}, N by ${update}`,
    sharing: 'green-contexts',
    policy: ({ saturation }) =>
      literalPolicy({
        name,
        rotation: { update },
        longPathCap: { counts, cap, protected: urgent },
        throttle: { saturation },
      }),
  }),
)

/** `AS_MEANT` without the throttle (MPS, as the paper ablates), and without rotation. */
export const MEANT_ABLATIONS: readonly PolicyCase[] = [
  {
    name: 'meant-no-throttle',
    about: 'ablation of the literal system as meant: no SM throttle, MPS',
    sharing: 'mps',
    policy: () =>
      literalPolicy({
        name: 'meant-no-throttle',
        longPathCap: { counts: 'in-flight', cap: 1, protected: 'limited' },
        throttle: false,
      }),
  },
  {
    name: 'meant-no-rotation',
    about: 'ablation of the literal system as meant: no temporal part (no rotation, no cap)',
    sharing: 'green-contexts',
    policy: ({ saturation }) =>
      literalPolicy({
        name: 'meant-no-rotation',
        rotation: false,
        longPathCap: false,
        uGuard: 0,
        throttle: { saturation },
      }),
  },
]
