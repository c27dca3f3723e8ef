/**
 * @module
 * Runs the library's own scheduler under the simulated runtime: translates places in the workload to handles and back, nothing else.
 */
import {
  type ArrivingRequest,
  createScheduler,
  HorizonError,
  type Policy,
  type Scheduler,
} from '../../core/index.js'
import { requestProfiler } from '../../policies/index.js'
import type { Calibration } from '../calibrate/calibration.js'
import type { Workload } from '../workload/workload.js'
import type { RuntimeScheduler } from './runtime-scheduler.js'
import type { OmniSpec } from './spec.js'

export interface HorizonScheduler extends RuntimeScheduler {
  /** The scheduler itself, for its metrics and integrity check. */
  readonly horizon: Scheduler
  /** The client gave up. */
  cancel(request: number): void
}

/** Builds the scheduler from a calibration, for a workload whose classes the calibration knows. */
export function horizonScheduler(
  spec: OmniSpec,
  workload: Workload,
  policy: Policy,
  calibration: Calibration,
  prefillTokens: Int32Array,
): HorizonScheduler {
  const horizon = createScheduler({
    classes: calibration.classes.map(({ name, path, sloMs, priority }) => ({
      name,
      path,
      sloMs,
      priority,
    })),
    profiler: requestProfiler(calibration.classes),
    policy,
    ladder: calibration.ladder,
    estimates: { downstreamConcurrency: spec.downstream.slots },
    capacity: { maxRequests: Math.max(1, workload.size) },
  })
  const names = workload.classes.map((of) => of.name)
  const arrivalOf = (request: number): ArrivingRequest => {
    const name = names[workload.classIndex[request] as number] as string
    if (horizon.classes.indexOf(name) === -1) {
      throw new HorizonError(
        'ERR_SIM_CALIBRATION',
        'the calibration lacks a class of the workload',
        {
          field: name,
          expected: horizon.classes.names.join(', '),
        },
      )
    }
    return {
      class: name,
      promptTokens: prefillTokens[request] as number,
      audioSeconds: workload.audioSeconds[request] as number,
      images: workload.images[request] as number,
      videos: workload.videos[request] as number,
    }
  }
  const scheduler: HorizonScheduler = schedulerOfRows(
    horizon,
    Math.max(1, workload.size),
    arrivalOf,
    (request) => scheduler.onShed?.(request),
  )
  return scheduler
}

/**
 * Puts any scheduler under a runtime that names its requests by rows. A row may be used again once its request has ended. `onShed`
 * hears, within a step, of what the policy refuses.
 */
export function schedulerOfRows(
  horizon: Scheduler,
  rows: number,
  arrivalOf: (request: number) => ArrivingRequest,
  onShed?: (request: number, earliestMs: number) => void,
): HorizonScheduler {
  const handles = new Int32Array(rows)
  const requests = new Map<number, number>()
  // Reused, so that a step allocates nothing.
  const reading = { value: 0, timestampMs: 0 }
  const handleOf = (request: number): number => handles[request] as number
  let waiting = 0
  if (onShed !== undefined) {
    horizon.events.on('shed', (handle, earliestMs) => {
      const request = requests.get(handle) as number
      requests.delete(handle)
      waiting--
      onShed(request, earliestMs)
    })
  }

  return {
    horizon,
    get capSms() {
      return horizon.decision.step < 0 ? Number.NaN : horizon.decision.capSms
    },
    get waiting() {
      return waiting
    },
    get protectedWaiting() {
      return horizon.decision.protected
    },
    arrive(request, nowMs) {
      const handle = horizon.arrive(arrivalOf(request), nowMs)
      handles[request] = handle
      requests.set(handle, request)
      waiting++
    },
    step(nowMs, pressure, pressureTimestampMs, downstreamActive) {
      reading.value = Math.min(1, pressure)
      reading.timestampMs = pressureTimestampMs
      horizon.step(nowMs, Number.isNaN(pressure) ? undefined : reading, downstreamActive)
    },
    next() {
      const handle = horizon.decision.view.take()
      return handle === 0 ? -1 : (requests.get(handle) as number)
    },
    admit(request) {
      horizon.admit(handleOf(request))
      waiting--
    },
    progress(request, prefillTokensDone, decodeTokensDone) {
      horizon.progress(handleOf(request), prefillTokensDone, decodeTokensDone)
    },
    preempt(request) {
      horizon.preempt(handleOf(request))
      waiting++
    },
    handedOver: (request) => horizon.handedOver(handleOf(request)),
    enterDownstream: (request) => horizon.enterDownstream(handleOf(request)),
    firstResponse(request, nowMs) {
      horizon.firstResponse(handleOf(request), nowMs)
    },
    cancel(request) {
      const handle = handleOf(request)
      if (horizon.isWaiting(handle)) waiting--
      horizon.cancel(handle)
      requests.delete(handle)
    },
    finish(request) {
      const handle = handleOf(request)
      horizon.finish(handle)
      requests.delete(handle)
    },
  }
}
