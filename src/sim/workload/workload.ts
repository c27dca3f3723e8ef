/**
 * @module
 * A workload: every request of a run, as columns in order of arrival, before any model of a GPU has seen it.
 */
import type { ModalityClass } from '../omni/modality-class.js'

export interface Workload {
  readonly name: string
  readonly size: number
  readonly classes: readonly ModalityClass[]
  /** Index into `classes`. */
  readonly classIndex: Uint8Array
  readonly arrivalMs: Float64Array
  /** Tokens of the text part of the prompt. */
  readonly promptTokens: Int32Array
  /** Text tokens of the answer, spoken or written. */
  readonly answerTokens: Int32Array
  readonly audioSeconds: Float64Array
  readonly images: Int32Array
  readonly videos: Int32Array
  /** Broken lines of a trace that were left out. */
  readonly skipped: number
  /** What a report must say: sources, and what was drawn and not recorded. */
  readonly notes: readonly string[]
}

/** Requests per second over the span of the arrivals; NaN below two requests. */
export function offeredRate(arrivalMs: Float64Array): number {
  const span = (arrivalMs[arrivalMs.length - 1] ?? 0) - (arrivalMs[0] ?? 0)
  return arrivalMs.length < 2 || span <= 0 ? Number.NaN : ((arrivalMs.length - 1) / span) * 1000
}

/** The requests at `indices`, arriving at `arrivalMs`. */
export function selectRequests(
  workload: Workload,
  name: string,
  indices: readonly number[],
  arrivalMs: Float64Array,
): Workload {
  const pick = <T extends Uint8Array | Int32Array | Float64Array>(column: T, target: T): T => {
    for (let i = 0; i < indices.length; i++) target[i] = column[indices[i] as number] as number
    return target
  }
  const n = indices.length
  return {
    ...workload,
    name,
    size: n,
    arrivalMs,
    classIndex: pick(workload.classIndex, new Uint8Array(n)),
    promptTokens: pick(workload.promptTokens, new Int32Array(n)),
    answerTokens: pick(workload.answerTokens, new Int32Array(n)),
    audioSeconds: pick(workload.audioSeconds, new Float64Array(n)),
    images: pick(workload.images, new Int32Array(n)),
    videos: pick(workload.videos, new Int32Array(n)),
  }
}
