/**
 * @module
 * A calibration as the part of a configuration file that it settles: classes, profiles, ladder, saturation. Everything else keeps its
 * default until somebody writes it.
 */
import type { LadderSpec } from '../../core/index.js'
import type { StageProfile } from '../../policies/index.js'
import { type InputModality, modalityClass, type OutputModality } from '../omni/modality-class.js'
import type { Calibration } from './calibration.js'

export interface CalibratedConfig {
  readonly classes: Readonly<
    Record<
      string,
      {
        readonly output: OutputModality
        readonly inputs: readonly InputModality[]
        readonly soloP95Ms: number
        readonly sloMultiplier: number
      }
    >
  >
  readonly profile: Readonly<Record<string, StageProfile>>
  readonly ladder: LadderSpec
  readonly throttle: { readonly saturation: number }
}

export function calibrationConfig(calibration: Calibration): CalibratedConfig {
  return {
    classes: Object.fromEntries(
      calibration.classes.map(({ name, soloP95Ms, sloMs }) => {
        const { input, output } = modalityClass(name)
        const sloMultiplier = Number((sloMs / soloP95Ms).toPrecision(6))
        const p95 = Number(soloP95Ms.toPrecision(6))
        return [name, { output, inputs: [input], soloP95Ms: p95, sloMultiplier }]
      }),
    ),
    profile: Object.fromEntries(calibration.classes.map(({ name, profile }) => [name, profile])),
    ladder: calibration.ladder,
    throttle: { saturation: calibration.saturation },
  }
}
