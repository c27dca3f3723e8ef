/**
 * @module
 * What the price of a step needs to know of a model beyond its kernel tables, which hold one layer. Facts of each model's
 * published `config.json`.
 */
import { HorizonError } from '../../core/errors.js'

export interface ModelShape {
  readonly layers: number
  readonly hidden: number
  readonly vocabulary: number
  /** Experts per layer and how many a token visits; 0 for a dense model. */
  readonly experts: number
  readonly expertsPerToken: number
}

const SHAPES: Readonly<Record<string, ModelShape>> = {
  'Llama-3.1-8B': {
    layers: 32,
    hidden: 4096,
    vocabulary: 128_256,
    experts: 0,
    expertsPerToken: 0,
  },
  'Qwen3-32B': {
    layers: 64,
    hidden: 5120,
    vocabulary: 151_936,
    experts: 0,
    expertsPerToken: 0,
  },
  'Qwen3-30B-A3B': {
    layers: 48,
    hidden: 2048,
    vocabulary: 151_936,
    experts: 128,
    expertsPerToken: 8,
  },
}

/** The shape of `owner/Name[-Suffix…]`: the longest known name that the model's name starts with. */
export function modelShape(model: string): ModelShape {
  const name = model.slice(model.lastIndexOf('/') + 1)
  const known = Object.keys(SHAPES).filter((key) => name.startsWith(key))
  const best = known.sort((a, b) => b.length - a.length)[0]
  if (best === undefined) {
    throw new HorizonError('ERR_SIM_MODEL', 'no shape known for this model', {
      field: 'engine_kwargs.model',
      expected: `a name starting with ${Object.keys(SHAPES).join(', ')}`,
      got: model,
      hint: 'Add its layers, heads and experts to src/sim/vllm/model-shape.ts',
    })
  }
  return SHAPES[best] as ModelShape
}
