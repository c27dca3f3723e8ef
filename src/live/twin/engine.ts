/**
 * @module
 * The omni runtime of the simulator with requests that come and go: the same stages, the same prices, the same way of sharing the GPU,
 * the real scheduler at every step. Rows are used again, so that it can run for ever. It knows no clock but the simulation's: moved by
 * events alone it calibrates, moved along with real time it serves.
 */
import type { ArrivingRequest, Scheduler } from '../../core/index.js'
import type { SharingMode, Simulation } from '../../sim/index.js'
import { createActivityMeter } from '../../sim/omni/activity-meter.js'
import { createCoRunning, type GpuWork, type Presence } from '../../sim/omni/co-running.js'
import { createDownstreamStage } from '../../sim/omni/downstream-stage.js'
import { schedulerOfRows } from '../../sim/omni/horizon-scheduler.js'
import type { RuntimeScheduler } from '../../sim/omni/runtime-scheduler.js'
import { createSharedStage } from '../../sim/omni/shared-stage.js'
import { createPlanRows } from './plan-rows.js'
import {
  clearRow,
  createRow,
  type Row,
  type TwinListener,
  type TwinRequest,
} from './request-row.js'
import type { TwinSpec } from './twin-spec.js'

export interface TwinEngine {
  readonly horizon: Scheduler
  /** Names of the scheduler's classes by index of a request's class. */
  readonly classNames: readonly string[]
  /** Waiting for the shared stage, holding a slot of it, queued and running downstream. */
  readonly waiting: number
  readonly numRunning: number
  readonly downstreamQueued: number
  readonly downstreamRunning: number
  /** Requests in the engine. */
  readonly inFlight: number
  readonly kvFraction: number
  readonly preemptions: number
  readonly steps: number
  /** Text and media tokens of a request, as the scheduler is told them. */
  prefillTokens(request: TwinRequest): number
  /** Takes a request at the simulation's now. Its row, or -1: every row is taken, or it could never fit the KV cache. */
  submit(request: TwinRequest, listener: TwinListener): number
  /** The client left: the request is dropped wherever it is. */
  abort(row: number): void
}

export interface TwinEngineOptions {
  readonly spec: TwinSpec
  readonly sharing: SharingMode
  readonly horizon: Scheduler
  /** The scheduler's name for each class of the spec. */
  readonly classNames: readonly string[]
  readonly simulation: Simulation
  /** Requests at once. */
  readonly rows: number
}

/** An engine that finds nothing visible asks again after this long, doubling up to the longest pause. */
const RETRY_MS = 1
const LONGEST_RETRY_MS = 64

// Ranks of events of one instant: what ends frees room before anything asks for it.
const RANK = { sharedDone: 0, downstreamDone: 1, retry: 3 } as const

export function createTwinEngine(options: TwinEngineOptions): TwinEngine {
  const { spec, simulation, horizon, classNames } = options
  const { omni } = spec
  const rows = Array.from({ length: options.rows }, createRow)
  const free = Array.from(rows.keys()).reverse()
  const { plan, requests, fill, ofRequest } = createPlanRows(spec, options.rows)
  const rowOf = (row: number): Row => rows[row] as Row
  const isLong = (row: number): boolean => (plan.units[row] as number) > 0

  const arrivalOf = (row: number): ArrivingRequest => ({
    class: classNames[rowOf(row).classIndex] as string,
    promptTokens: plan.prefillTokens[row] as number,
    audioSeconds: requests.audioSeconds[row] as number,
    images: requests.images[row] as number,
    videos: requests.videos[row] as number,
    ...(rowOf(row).sloMs === undefined ? {} : { sloMs: rowOf(row).sloMs as number }),
  })
  const held = schedulerOfRows(horizon, options.rows, arrivalOf, (row, earliestMs) => {
    const { listener, times } = rowOf(row)
    listener?.shed?.(earliestMs, times)
    done.push(row)
  })
  const scheduler: RuntimeScheduler = {
    ...held,
    get capSms() {
      return held.capSms
    },
    get waiting() {
      return held.waiting
    },
    get protectedWaiting() {
      return held.protectedWaiting
    },
    progress(row, prefillDone, decodeDone) {
      held.progress(row, prefillDone, decodeDone)
      const { listener, times } = rowOf(row)
      if (decodeDone === 0) return
      if (Number.isNaN(times.firstTokenMs)) times.firstTokenMs = simulation.nowMs
      listener?.tokens?.(decodeDone, times)
    },
  }

  const { mechanism, queuePlaces } = omni.handOver
  const coRunning = createCoRunning(options.sharing, omni.sharing)
  const meter = createActivityMeter(omni.sharing.pressurePeriodMs)
  const work: GpuWork = { computeMs: 0, memoryMs: 0 }
  const sharedPresence: Presence = { duty: 0, bandwidth: 0, compute: 0 }
  const together: Presence = { duty: 0, bandwidth: 0, compute: 0 }
  let sharedBusy = false
  let sharedFraction = 0
  let retryMs = RETRY_MS
  let retryPending = false
  let steps = 0
  const done: number[] = []

  const shared = createSharedStage(omni, plan, scheduler, {
    admitted(row) {
      const { times } = rowOf(row)
      if (Number.isNaN(times.admittedMs)) times.admittedMs = simulation.nowMs
    },
    firstToken(row, nowMs) {
      if (!isLong(row)) respond(row, nowMs)
    },
    decoded(row, nowMs) {
      const { times, listener } = rowOf(row)
      times.decodedMs = nowMs
      if (!isLong(row)) {
        finish(row, nowMs)
        return
      }
      listener?.handedOver?.(plan.units[row] as number, times)
      if (!isHeld(row)) {
        handOver(row)
        return
      }
      scheduler.handedOver(row)
      const line = lineOf(row)
      if (mechanism === 'until-accepted') line.held.push(row)
      else {
        line.stage.enter(row)
        startUnit(line)
      }
    },
    holds: isHeld,
  })

  function isHeld(row: number): boolean {
    if (mechanism === 'free' || !isLong(row)) return false
    return mechanism === 'until-done' || !lineOf(row).stage.accepts(queuePlaces)
  }

  function handOver(row: number): void {
    scheduler.enterDownstream(row)
    const line = lineOf(row)
    line.stage.enter(row)
    startUnit(line)
  }

  /** Whoever waits for room in a line gives its place in the shared stage back once there is some. */
  function handOverHeld(line: Line): void {
    while (line.held.length > 0 && line.stage.accepts(queuePlaces)) {
      const row = line.held.shift() as number
      shared.release(row)
      handOver(row)
    }
  }

  const lineSpecs = spec.image === undefined ? [omni] : [omni, { ...omni, downstream: spec.image }]
  const lines = lineSpecs.map((of, index) => {
    const stage = createDownstreamStage(of, plan, {
      started(row) {
        rowOf(row).times.downstreamStartMs = simulation.nowMs
      },
      advanced(row, done, nowMs) {
        const first = plan.firstResponseUnits[row] as number
        if (done < first) return
        const { listener, times } = rowOf(row)
        if (done === first) times.firstResponseMs = nowMs
        listener?.units?.(done, times)
      },
      firstResponse: respond,
      finished: finish,
    })
    const presence: Presence = { duty: 0, bandwidth: 0, compute: 0 }
    const held: number[] = []
    return { index, stage, held, presence, busy: false, hostMs: of.downstream.hostMsPerUnit }
  })
  type Line = (typeof lines)[number]
  const lineOf = (row: number): Line =>
    lines[
      lines.length > 1 && spec.classes[rowOf(row).classIndex]?.output === 'image' ? 1 : 0
    ] as Line

  function respond(row: number, nowMs: number): void {
    rowOf(row).times.firstResponseMs = nowMs
    scheduler.firstResponse(row, nowMs)
  }

  function finish(row: number, nowMs: number): void {
    const { listener, times } = rowOf(row)
    times.finishedMs = nowMs
    if (mechanism === 'until-done' && isLong(row)) shared.release(row)
    scheduler.finish(row)
    listener?.end(times)
    done.push(row)
  }

  /** A stage that is telling what ended must not lose rows meanwhile. */
  function releaseDone(): void {
    for (const row of done.splice(0)) release(row)
  }

  function release(row: number): void {
    shared.forget(row)
    for (const { stage, held } of lines) {
      stage.forget(row)
      const place = held.indexOf(row)
      if (place !== -1) held.splice(place, 1)
    }
    clearRow(rowOf(row))
    free.push(row)
  }

  const sharedDone = simulation.kind(RANK.sharedDone, () => {
    sharedBusy = false
    meter.set('shared', 0, simulation.nowMs)
    setPresence(sharedPresence, 0, 0)
    shared.complete(simulation.nowMs)
    releaseDone()
    startStep()
  })
  const unitDone = simulation.kind(RANK.downstreamDone, (index) => {
    const line = lines[index] as Line
    line.busy = false
    setPresence(line.presence, 0, 0)
    meter.set('downstream', combined().duty, simulation.nowMs)
    line.stage.complete(simulation.nowMs)
    releaseDone()
    handOverHeld(line)
    startUnit(line)
    wake()
  })
  const retry = simulation.kind(RANK.retry, () => {
    retryPending = false
    if (!sharedBusy) startStep()
  })

  const downstreamRunning = (): number =>
    lines.reduce((sum, { stage }) => sum + stage.numRunning, 0)
  const downstreamQueued = (): number => lines.reduce((sum, { stage }) => sum + stage.numQueued, 0)

  /** The downstream stages as one neighbour of the shared stage. */
  function combined(): Presence {
    let idle = 1
    together.bandwidth = 0
    together.compute = 0
    for (const { presence } of lines) {
      idle *= 1 - presence.duty
      together.bandwidth = Math.max(together.bandwidth, presence.bandwidth)
      together.compute = Math.max(together.compute, presence.compute)
    }
    together.duty = 1 - idle
    return together
  }

  function wake(): void {
    retryMs = RETRY_MS
    if (!sharedBusy) startStep()
  }

  function startStep(): void {
    const nowMs = simulation.nowMs
    meter.sample(nowMs)
    if (scheduler.waiting + shared.numRunning - shared.numHeld === 0) return
    const active = downstreamRunning() + downstreamQueued() > 0
    scheduler.step(nowMs, meter.value, meter.timestampMs, active)
    releaseDone()
    if (!shared.compose(work)) {
      if (retryPending) return
      simulation.after(retryMs, retry)
      retryPending = true
      retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
      return
    }
    retryMs = RETRY_MS
    steps++
    sharedBusy = true
    sharedFraction = Math.min(1, scheduler.capSms / omni.totalSms)
    const gpuMs = coRunning.sharedMs(work, sharedFraction, combined(), shared.prefills)
    const hostMs = omni.shared.hostMs + omni.shared.hostMsPerAnswerToken * shared.decodedTokens
    setPresence(sharedPresence, gpuMs, hostMs)
    meter.set('shared', sharedPresence.duty, nowMs)
    simulation.after(gpuMs + hostMs, sharedDone)
  }

  function startUnit(line: Line): void {
    if (line.busy || !line.stage.compose(work)) return
    line.busy = true
    const gpuMs = coRunning.downstreamMs(work, sharedBusy ? sharedFraction : 0, sharedPresence)
    setPresence(line.presence, gpuMs, line.hostMs)
    meter.set('downstream', combined().duty, simulation.nowMs)
    simulation.after(gpuMs + line.hostMs, unitDone, line.index)
  }

  /** From the work just composed; an idle stage has none. */
  function setPresence(of: Presence, gpuMs: number, hostMs: number): void {
    const alone = Math.max(work.computeMs, work.memoryMs)
    of.duty = gpuMs === 0 ? 0 : gpuMs / (gpuMs + hostMs)
    of.bandwidth = gpuMs === 0 ? 0 : work.memoryMs / alone
    of.compute = gpuMs === 0 ? 0 : work.computeMs / alone
  }

  return {
    horizon,
    classNames,
    get waiting() {
      return scheduler.waiting
    },
    get numRunning() {
      return shared.numRunning
    },
    get downstreamQueued() {
      return downstreamQueued()
    },
    get downstreamRunning() {
      return downstreamRunning()
    },
    get inFlight() {
      return options.rows - free.length
    },
    get kvFraction() {
      return shared.kvTokens / omni.kvCapacityTokens
    },
    get preemptions() {
      return shared.preemptions
    },
    get steps() {
      return steps
    },
    prefillTokens: ofRequest,
    submit(request, listener) {
      const row = free.pop()
      if (row === undefined) return -1
      fill(row, request)
      shared.forget(row)
      if (!shared.accepts(row)) {
        free.push(row)
        return -1
      }
      const of = rowOf(row)
      of.listener = listener
      of.classIndex = request.classIndex
      of.sloMs = request.sloMs
      of.times.arrivedMs = simulation.nowMs
      scheduler.arrive(row, simulation.nowMs)
      wake()
      return row
    },
    abort(row) {
      if (Number.isNaN(rowOf(row).times.arrivedMs)) return
      held.cancel(row)
      const line = lineOf(row)
      release(row)
      handOverHeld(line)
      wake()
    },
  }
}
