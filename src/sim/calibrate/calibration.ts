/**
 * @module
 * What is known about a model on a GPU before it serves: the SLO table, the stage profiles that `r̂` is read from, the ladder and
 * the pressure at which the shared stage gets Scap (paper, section 4.2).
 */
import type { LadderSpec } from '../../core/index.js'
import type { StageProfile } from '../../policies/index.js'

export interface CalibratedClass {
  readonly name: string
  readonly path: 'short' | 'long'
  readonly priority: number
  /** p95 of the first-response latency alone, ms. */
  readonly soloP95Ms: number
  /** Δ = p95 × multiplier. */
  readonly sloMs: number
  readonly profile: StageProfile
  /** Solo requests it rests on. */
  readonly samples: number
}

export interface Calibration {
  readonly classes: readonly CalibratedClass[]
  readonly ladder: LadderSpec
  /** Bsat, for the kind of pressure that was swept. */
  readonly saturation: number
}
