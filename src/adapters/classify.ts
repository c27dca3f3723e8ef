/**
 * @module
 * Which class a request with several input or output modalities belongs to. The Python shim decides the same inside the engine
 * (`python/horizonserve/describe.py` and `classes.py`); `test/golden/mixed-requests.json` holds both to one set of rules.
 */
import { expectThat } from '../core/errors.js'
import { MODALITY } from './layout.js'

export type Modality = keyof typeof MODALITY

/** A class, as classification sees it. */
export interface ModalityClass {
  readonly output: Modality
  /** What it takes; text always comes along. @default everything */
  readonly inputs?: readonly Modality[]
  readonly priority: number
}

/** What is known of a request. Whatever cannot be read counts as not said. */
export interface RequestMarks {
  /** vLLM-Omni's `omni_final_stage_id`: 0 ends after the shared stage, so the answer is text, whatever else was asked for. */
  readonly finalStage?: unknown
  /** `modalities` of the chat API: a name or a list of names. */
  readonly modalities?: unknown
  /** Of the prompt, beside its text. @default [] */
  readonly inputs?: readonly Modality[]
  /** @default 0 */
  readonly priority?: number
}

const NAMES: Readonly<Record<string, number>> = {
  ...MODALITY,
  speech: MODALITY.audio,
  // Tasks, as clients of image and video models name them.
  text2img: MODALITY.image,
  txt2img: MODALITY.image,
  img2img: MODALITY.image,
  text2image: MODALITY.image,
  image2image: MODALITY.image,
  text2video: MODALITY.video,
  txt2video: MODALITY.video,
  img2video: MODALITY.video,
  image2video: MODALITY.video,
  video2video: MODALITY.video,
  text2speech: MODALITY.audio,
  text2audio: MODALITY.audio,
}
const SLOWEST_FIRST = [MODALITY.video, MODALITY.image, MODALITY.audio, MODALITY.text]

/** Returns the classifier: the index of a request's class in the list given. Throws `ERR_ADAPTERS_CLASSES` for an empty list. */
export function createClassifier(
  classes: readonly ModalityClass[],
): (request: RequestMarks) => number {
  expectThat(
    classes.length > 0,
    'ERR_ADAPTERS_CLASSES',
    'nothing to choose from',
    'classes',
    'at least one class',
    classes.length,
  )
  const outputs = classes.map(({ output }) => MODALITY[output])
  const takes = classes.map(({ inputs }) =>
    inputs === undefined || inputs.length === 0 ? 0 : maskOf(inputs) | MODALITY.text,
  )
  const thatGive = (output: number): number[] =>
    outputs.flatMap((mask, c) => (mask === output ? [c] : []))
  const latest = slowest(outputs.reduce((all, mask) => all | mask, 0) & ~MODALITY.text)
  return (request) => {
    const output = slowest(outputsOf(request))
    let candidates = output > 0 ? thatGive(output) : []
    // It does not end with text, whatever it ends with: the slowest class that does not either.
    if (candidates.length === 0 && isLater(request.finalStage)) candidates = thatGive(latest)
    if (candidates.length > 0)
      return byInputs(candidates, takes, maskOf(request.inputs ?? []) | MODALITY.text)
    const byPriority = classes.findIndex(({ priority }) => priority === (request.priority ?? 0))
    return Math.max(0, byPriority)
  }
}

/** The class that takes all inputs and least beside them; if none does, the first that takes the slowest of them, else the first. */
function byInputs(candidates: readonly number[], takes: readonly number[], inputs: number): number {
  let best = -1
  let fewest = Number.POSITIVE_INFINITY
  for (const c of candidates) {
    const mask = takes[c]!
    // One that takes everything comes after those that say what they take.
    const spare = mask === 0 ? 4 : bits(mask & ~inputs)
    if ((mask === 0 || (inputs & ~mask) === 0) && spare < fewest) {
      best = c
      fewest = spare
    }
  }
  if (best >= 0) return best
  const decisive = slowest(inputs)
  return candidates.find((c) => (takes[c]! & decisive) !== 0) ?? candidates[0]!
}

/** A request that answers in several modalities is as slow as the slowest of them. 0: nothing was said. */
function outputsOf({ finalStage, modalities }: RequestMarks): number {
  const said = maskOf(
    typeof modalities === 'string' ? [modalities] : Array.isArray(modalities) ? modalities : [],
  )
  if (!Number.isInteger(finalStage) || (finalStage as number) < 0) return said
  if (finalStage === 0) return MODALITY.text
  return said & ~MODALITY.text || MODALITY.audio
}

function isLater(finalStage: unknown): boolean {
  return Number.isInteger(finalStage) && (finalStage as number) > 0
}

function slowest(mask: number): number {
  return SLOWEST_FIRST.find((bit) => (mask & bit) !== 0) ?? 0
}

function maskOf(names: readonly unknown[]): number {
  return names.reduce<number>(
    (mask, name) =>
      typeof name === 'string' && Object.hasOwn(NAMES, name) ? mask | NAMES[name]! : mask,
    0,
  )
}

function bits(mask: number): number {
  return SLOWEST_FIRST.filter((bit) => (mask & bit) !== 0).length
}
