/**
 * @module
 * What the requests in the twin's rows cost the model, by the simulator's own arithmetic.
 */

import { modalityClass } from '../../sim/index.js'
import { planRequests, type RequestPlan } from '../../sim/omni/request-plan.js'
import type { Workload } from '../../sim/workload/workload.js'
import type { TwinRequest } from './request-row.js'
import type { TwinSpec } from './twin-spec.js'

export interface PlanRows {
  readonly plan: RequestPlan
  /** What the scheduler is told of a request. */
  readonly requests: {
    readonly audioSeconds: Float64Array
    readonly images: Int32Array
    readonly videos: Int32Array
  }
  /** Writes the plan of a request to a row. */
  fill(row: number, request: TwinRequest): void
  /** Tokens to prefill, media included. */
  ofRequest(request: TwinRequest): number
}

export function createPlanRows(spec: TwinSpec, rows: number): PlanRows {
  const plan: RequestPlan = {
    prefillTokens: new Int32Array(rows),
    encodeTflop: new Float64Array(rows),
    decodeTokens: new Int32Array(rows),
    units: new Int32Array(rows),
    firstResponseUnits: new Int32Array(rows),
  }
  const requests = {
    audioSeconds: new Float64Array(rows),
    images: new Int32Array(rows),
    videos: new Int32Array(rows),
  }
  // Images made by a stage of their own decode no text first, as in the simulator's image model.
  const imageSpec =
    spec.image === undefined
      ? spec.omni
      : {
          ...spec.omni,
          downstream: spec.image,
          shared: { ...spec.omni.shared, tokensPerAnswerToken: 0 },
        }
  const classes = spec.classes.map((of) => modalityClass(of.modality))
  // One row, filled anew for each request.
  const one: Workload = {
    name: 'twin',
    size: 1,
    classes,
    classIndex: new Uint8Array(1),
    arrivalMs: new Float64Array(1),
    promptTokens: new Int32Array(1),
    answerTokens: new Int32Array(1),
    audioSeconds: new Float64Array(1),
    images: new Int32Array(1),
    videos: new Int32Array(1),
    skipped: 0,
    notes: [],
  }
  function planOf(request: TwinRequest): RequestPlan {
    one.classIndex[0] = request.classIndex
    one.promptTokens[0] = request.promptTokens
    one.answerTokens[0] = request.answerTokens
    one.audioSeconds[0] = request.audioSeconds
    one.images[0] = request.images
    one.videos[0] = request.videos
    const isImage = classes[request.classIndex]?.output === 'image'
    return planRequests(isImage ? imageSpec : spec.omni, one)
  }

  return {
    plan,
    requests,
    fill(row, request) {
      const of = planOf(request)
      for (const name of Object.keys(plan) as (keyof RequestPlan)[])
        plan[name][row] = of[name][0] as number
      requests.audioSeconds[row] = request.audioSeconds
      requests.images[row] = request.images
      requests.videos[row] = request.videos
    },
    ofRequest: (request) => planOf(request).prefillTokens[0] as number,
  }
}
