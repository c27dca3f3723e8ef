/**
 * @module
 * What the engine must know to classify a request and to estimate it: the text that stands in the segment beside the table.
 */
import { MODALITY } from '../adapters/layout.js'
import type { HorizonConfig } from '../config.js'

/** The JSON text of the classes, in the order of the configuration. Numbers survive the trip to Python to the last bit. */
export function describeClasses(config: HorizonConfig): string {
  return JSON.stringify({
    classes: Object.entries(config.classes).map(([name, { output, inputs }]) => {
      const profile = config.profile[name]!
      return {
        name,
        inputs: (inputs ?? []).reduce((mask, modality) => mask | MODALITY[modality], 0),
        outputs: MODALITY[output],
        shared: profile.shared,
        decodeMs: (profile.decodeTokens ?? 0) * (profile.decodeMsPerToken ?? 0),
        downstream: profile.downstream ?? {},
      }
    }),
  })
}
