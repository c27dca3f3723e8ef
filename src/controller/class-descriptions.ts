/**
 * @module
 * What the engine must know to classify a request and to estimate it: the text that stands in the segment beside the table.
 */
import type { StageProfile } from '../policies/index.js'

/** A class as the engine sees it. Masks of `MODALITY`; 0 accepts any. */
export interface ClassDescription {
  readonly name: string
  readonly inputs: number
  readonly outputs: number
  readonly profile: StageProfile
}

/** The JSON text of the descriptions. Numbers survive the trip to Python to the last bit. */
export function describeClasses(classes: readonly ClassDescription[]): string {
  return JSON.stringify({
    classes: classes.map(({ name, inputs, outputs, profile }) => ({
      name,
      inputs,
      outputs,
      shared: profile.shared,
      decodeMs: (profile.decodeTokens ?? 0) * (profile.decodeMsPerToken ?? 0),
      downstream: profile.downstream ?? {},
    })),
  })
}
