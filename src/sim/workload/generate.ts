/**
 * @module
 * Makes a workload from a seed, or lays output modalities over a recorded trace. Arrivals, classes and lengths draw from streams of
 * their own, so that two runs that differ in one of them are paired in the others.
 */
import { HorizonError } from '../../core/errors.js'
import type { ModalityClass } from '../omni/modality-class.js'
import type { OmniSpec } from '../omni/spec.js'
import { createRng } from '../rng.js'
import type { Trace } from '../traces/trace.js'
import {
  type ArrivalProcess,
  drawArrivals,
  drawArrivalsUntil,
  gaps,
  rescaleArrivals,
} from './arrivals.js'
import { type ClassMix, classAt } from './class-mix.js'
import {
  AUDIO_SECONDS,
  MEDIA_PROMPT_TOKENS,
  spokenAnswer,
  TEXT_LENGTHS,
  type TextLengths,
  type TextLengthsName,
} from './lengths.js'
import { offeredRate, type Workload } from './workload.js'

export interface GenerateOptions {
  readonly spec: OmniSpec
  readonly mix: ClassMix
  /** Requests per second. */
  readonly rate: number
  readonly arrivals?: ArrivalProcess
  readonly lengths?: TextLengthsName
  /** Number of requests, or minutes of arrivals. */
  readonly extent: { readonly requests: number } | { readonly minutes: number }
  readonly seed: number
}

export interface OverlayOptions {
  readonly spec: OmniSpec
  /** Drawn for every request whose class the trace does not name. */
  readonly mix: ClassMix
  /** Requests per second, or the trace's own times. */
  readonly rate: number | 'trace'
  readonly seed: number
}

/** A seeded workload by published statistics. */
export function generateWorkload(options: GenerateOptions): Workload {
  const { spec, mix, extent } = options
  const process = options.arrivals ?? { kind: 'poisson' }
  const rng = createRng(options.seed)
  const law = gaps(process, options.rate)
  const arrivalMs =
    'requests' in extent
      ? drawArrivals(law, extent.requests, rng.fork('arrivals'))
      : drawArrivalsUntil(law, extent.minutes * 60_000, rng.fork('arrivals'))
  const lengths: TextLengths = TEXT_LENGTHS[options.lengths ?? 'sharegpt']
  const columns = emptyColumns(arrivalMs.length)
  const draw = requestDrawer(spec, mix, options.seed)
  const prompts = rng.fork('prompts')
  const answers = rng.fork('answers')
  for (let i = 0; i < arrivalMs.length; i++) {
    // Drawn for every request, used or not: streams stay aligned whatever the classes are.
    draw(i, columns, lengths.prompt.sample(prompts), lengths.answer.sample(answers))
  }
  const shape = process.kind === 'poisson' ? 'Poisson' : `${process.kind} (cv ${process.cv})`
  return {
    name: `${spec.model}, ${shape} arrivals at ${options.rate} req/s`,
    size: arrivalMs.length,
    classes: spec.classes,
    arrivalMs,
    ...columns,
    skipped: 0,
    notes: [lengths.note, 'class mix declared, not recorded'],
  }
}

/** A trace with output modalities laid over it. Text lengths and times are the trace's, everything else is drawn. */
export function overlayTrace(trace: Trace, name: string, options: OverlayOptions): Workload {
  const { spec, mix } = options
  const columns = emptyColumns(trace.size)
  const draw = requestDrawer(spec, mix, options.seed)
  for (let i = 0; i < trace.size; i++) {
    const named = trace.classNames?.[i]
    const prompt = trace.promptTokens[i] as number
    const answer = trace.outputTokens[i] as number
    const known = named === undefined ? undefined : indexOfClass(spec.classes, named, i)
    draw(i, columns, prompt, answer, known)
    columns.promptTokens[i] = prompt
    // A trace that names the class has recorded its answer, spoken or not.
    if (known !== undefined) columns.answerTokens[i] = answer
    if (trace.audioSeconds[i]) columns.audioSeconds[i] = trace.audioSeconds[i] as number
    if (trace.images[i]) columns.images[i] = trace.images[i] as number
    if (trace.videos[i]) columns.videos[i] = trace.videos[i] as number
  }
  const own = offeredRate(trace.arrivalMs)
  const rescaled = options.rate !== 'trace'
  return {
    name,
    size: trace.size,
    classes: spec.classes,
    arrivalMs: rescaled
      ? rescaleArrivals(trace.arrivalMs, options.rate as number)
      : Float64Array.from(trace.arrivalMs),
    ...columns,
    skipped: trace.skipped,
    notes: [
      ...trace.notes,
      ...trace.warnings.map((warning) => `warning: ${warning}`),
      rescaled
        ? `arrivals rescaled from ${own.toFixed(2)} to ${options.rate} req/s`
        : `arrivals as recorded, ${own.toFixed(2)} req/s`,
      'output modalities laid over the trace, which has none; spoken answers drawn from the model’s law',
    ],
  }
}

interface Columns {
  readonly classIndex: Uint8Array
  readonly promptTokens: Int32Array
  readonly answerTokens: Int32Array
  readonly audioSeconds: Float64Array
  readonly images: Int32Array
  readonly videos: Int32Array
}

function emptyColumns(size: number): Columns {
  return {
    classIndex: new Uint8Array(size),
    promptTokens: new Int32Array(size),
    answerTokens: new Int32Array(size),
    audioSeconds: new Float64Array(size),
    images: new Int32Array(size),
    videos: new Int32Array(size),
  }
}

/** Fills one request: its class (drawn unless named), and what the class adds to or changes of the text lengths. */
function requestDrawer(
  spec: OmniSpec,
  mix: ClassMix,
  seed: number,
): (i: number, to: Columns, promptTokens: number, answerTokens: number, named?: number) => void {
  const rng = createRng(seed)
  const classStream = rng.fork('classes')
  const audioStream = rng.fork('audio')
  const mediaStream = rng.fork('media-prompts')
  const spokenStream = rng.fork('spoken-answers')
  const spoken = spokenAnswer(spec.spokenAnswerTokens)
  return (i, to, promptTokens, answerTokens, named) => {
    const point = classStream.next()
    const seconds = AUDIO_SECONDS.sample(audioStream)
    const mediaPrompt = MEDIA_PROMPT_TOKENS.sample(mediaStream)
    const spokenTokens = spoken.sample(spokenStream)
    const index = named ?? classAt(mix, point)
    const { input, output } = spec.classes[index] as ModalityClass
    const short = input !== 'text' || output === 'image'
    to.classIndex[i] = index
    to.promptTokens[i] = Math.max(1, Math.round(short ? mediaPrompt : promptTokens))
    to.answerTokens[i] = Math.max(1, Math.round(output === 'text' ? answerTokens : spokenTokens))
    to.audioSeconds[i] = input === 'audio' ? seconds : 0
    to.images[i] = input === 'image' ? 1 : 0
    to.videos[i] = input === 'video' ? 1 : 0
  }
}

function indexOfClass(classes: readonly ModalityClass[], name: string, row: number): number {
  const index = classes.findIndex((of) => of.name === name)
  if (index !== -1) return index
  throw new HorizonError('ERR_SIM_CLASS', 'the model does not serve the class a trace names', {
    field: `request ${row + 1}`,
    expected: classes.map((of) => of.name).join(', '),
    got: name,
  })
}
