/**
 * @module
 * What each request of a workload costs a model: tokens to prefill, encoder work, tokens to decode, units of downstream work.
 */
import type { Workload } from '../workload/workload.js'
import type { ModalityClass } from './modality-class.js'
import type { OmniSpec } from './spec.js'

/** Columns over the requests of a workload. */
export interface RequestPlan {
  /** Text and media tokens. */
  readonly prefillTokens: Int32Array
  readonly encodeTflop: Float64Array
  /** Tokens the shared stage decodes; the first comes out of the last prefill step. */
  readonly decodeTokens: Int32Array
  /** Units of downstream work; 0 on the short path. */
  readonly units: Int32Array
  /** Units after which the first response leaves; 0 on the short path. */
  readonly firstResponseUnits: Int32Array
}

export function planRequests(spec: OmniSpec, workload: Workload): RequestPlan {
  const n = workload.size
  const plan: RequestPlan = {
    prefillTokens: new Int32Array(n),
    encodeTflop: new Float64Array(n),
    decodeTokens: new Int32Array(n),
    units: new Int32Array(n),
    firstResponseUnits: new Int32Array(n),
  }
  const { inputs, downstream, shared } = spec
  for (let i = 0; i < n; i++) {
    const of = workload.classes[workload.classIndex[i] as number] as ModalityClass
    const seconds = workload.audioSeconds[i] as number
    const images = workload.images[i] as number
    const videos = workload.videos[i] as number
    const answer = workload.answerTokens[i] as number
    plan.prefillTokens[i] =
      (workload.promptTokens[i] as number) +
      Math.ceil(
        seconds * inputs.tokensPerAudioSecond +
          images * inputs.tokensPerImage +
          videos * inputs.tokensPerVideo,
      )
    plan.encodeTflop[i] =
      seconds * inputs.tflopPerAudioSecond +
      images * inputs.tflopPerImage +
      videos * inputs.tflopPerVideo
    if (of.path === 'short') {
      plan.decodeTokens[i] = Math.max(1, answer)
      continue
    }
    plan.decodeTokens[i] = Math.max(1, Math.round(answer * shared.tokensPerAnswerToken))
    const units = Math.max(
      1,
      Math.round(answer * downstream.unitsPerAnswerToken + downstream.unitsPerRequest),
    )
    plan.units[i] = units
    plan.firstResponseUnits[i] = Math.max(1, Math.ceil(units * downstream.firstResponseAt))
  }
  return plan
}
