/**
 * @module
 * The downstream stage: talker and vocoder, or an image generator. A first-come-first-served queue and slots of its own; all requests
 * in slots advance by one unit (half a second of speech, one denoising step) together, and newcomers join between units.
 */
import type { GpuWork } from './co-running.js'
import type { RequestPlan } from './request-plan.js'
import type { OmniSpec } from './spec.js'
import { downstreamWork } from './stage-work.js'

export interface DownstreamStage {
  readonly numRunning: number
  readonly numQueued: number
  /** Whether one more fits into a place, or into the queue before them where its length is given. */
  accepts(queuePlaces: number): boolean
  enter(request: number): void
  /** Composes the next unit; false when there is nothing to run. */
  compose(work: GpuWork): boolean
  /** Books the unit composed last. */
  complete(nowMs: number): void
  /** Drops the request wherever it is, without a callback: its row may then be used for another request. */
  forget(request: number): void
}

export interface DownstreamEvents {
  /** A request took a slot. */
  started(request: number): void
  /** A unit of its work is done; comes before the two below. */
  advanced?(request: number, unitsDone: number, nowMs: number): void
  firstResponse(request: number, nowMs: number): void
  finished(request: number, nowMs: number): void
}

export function createDownstreamStage(
  spec: OmniSpec,
  plan: RequestPlan,
  events: DownstreamEvents,
): DownstreamStage {
  const { slots } = spec.downstream
  const unitsDone = new Int32Array(plan.units.length)
  const running = new Int32Array(slots)
  // A row is in the queue at most once, so a ring of as many places never overflows.
  const size = plan.units.length
  const queue = new Int32Array(size)
  let head = 0
  let tail = 0
  let numRunning = 0

  return {
    get numRunning() {
      return numRunning
    },
    get numQueued() {
      return tail - head
    },
    accepts: (queuePlaces) => numRunning + tail - head < slots + queuePlaces,
    enter(request) {
      queue[tail++ % size] = request
    },
    compose(work) {
      while (numRunning < slots && head < tail) {
        const request = queue[head++ % size] as number
        running[numRunning++] = request
        events.started(request)
      }
      if (numRunning === 0) return false
      downstreamWork(spec, numRunning, work)
      return true
    },
    complete(nowMs) {
      let kept = 0
      const before = numRunning
      for (let i = 0; i < before; i++) {
        const request = running[i] as number
        const done = (unitsDone[request] as number) + 1
        unitsDone[request] = done
        events.advanced?.(request, done, nowMs)
        if (done === plan.firstResponseUnits[request]) events.firstResponse(request, nowMs)
        if (done === plan.units[request]) {
          // Out of its slot before anybody hears of it.
          numRunning--
          events.finished(request, nowMs)
        } else running[kept++] = request
      }
    },
    forget(request) {
      unitsDone[request] = 0
      const place = running.subarray(0, numRunning).indexOf(request)
      if (place !== -1) running.copyWithin(place, place + 1, numRunning--)
      for (let i = head; i < tail; i++) {
        if (queue[i % size] !== request) continue
        for (; i + 1 < tail; i++) queue[i % size] = queue[(i + 1) % size] as number
        tail--
      }
    },
  }
}
