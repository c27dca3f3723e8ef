/**
 * @module
 * Request classes as the paper writes them: input modality, `2`, output modality. Text output ends in the shared stage (short path);
 * audio and image output need a downstream stage (long path).
 */
import { HorizonError } from '../../core/errors.js'

export type InputModality = 'text' | 'audio' | 'image' | 'video'
export type OutputModality = 'text' | 'audio' | 'image'

export interface ModalityClass {
  /** For example `a2t`. */
  readonly name: string
  readonly input: InputModality
  readonly output: OutputModality
  readonly path: 'short' | 'long'
  /** The paper's priority field: 0 text, 10 audio, 20 image output. */
  readonly priority: number
}

const INPUTS: Readonly<Record<string, InputModality>> = {
  t: 'text',
  a: 'audio',
  i: 'image',
  v: 'video',
}
const OUTPUTS: Readonly<Record<string, OutputModality>> = { t: 'text', a: 'audio', i: 'image' }
const PRIORITY: Readonly<Record<OutputModality, number>> = { text: 0, audio: 10, image: 20 }

/** Parses `a2t` and its like. Throws `ERR_SIM_CLASS`. */
export function modalityClass(name: string): ModalityClass {
  const parts = /^([taiv])2([tai])$/.exec(name)
  const input = INPUTS[parts?.[1] ?? '']
  const output = OUTPUTS[parts?.[2] ?? '']
  if (input === undefined || output === undefined) {
    throw new HorizonError('ERR_SIM_CLASS', 'not a request class', {
      expected: 'input and output modality, such as t2t, a2t, i2t, v2t, t2a, a2a, t2i',
      got: name,
    })
  }
  const path = output === 'text' ? 'short' : 'long'
  return { name, input, output, path, priority: PRIORITY[output] }
}
