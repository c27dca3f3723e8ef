/**
 * @module
 * The simulated omni runtime: arrivals, the shared stage stepping under a scheduler, the downstream stage, and the GPU between them.
 * A step of the shared stage and a unit of the downstream stage are one event each; a token never is. The speed of a step is fixed
 * when it begins, from what its neighbour does at that moment.
 */
import { HorizonError } from '../../core/index.js'
import type { Series } from '../series.js'
import { createSeriesRecorder } from '../series.js'
import { createSimulation, type Simulation } from '../simulation.js'
import type { Workload } from '../workload/workload.js'
import { createActivityMeter } from './activity-meter.js'
import { createCoRunning, type GpuWork, type Presence, type SharingMode } from './co-running.js'
import { createDownstreamStage } from './downstream-stage.js'
import type { RequestPlan } from './request-plan.js'
import { createRunRecord, OUTCOME, type RunRecord } from './run-record.js'
import type { RuntimeScheduler } from './runtime-scheduler.js'
import { createSharedStage } from './shared-stage.js'
import type { OmniSpec } from './spec.js'

export interface RuntimeRun {
  readonly record: RunRecord
  readonly series: Series
  readonly virtualMs: number
  readonly events: number
  /** Engine steps of the shared stage that ran a batch, and those that found an empty view while work waited. */
  readonly steps: number
  readonly emptySteps: number
  readonly preemptions: number
  /** Mean memory activity over the run, as NVML would average it. */
  readonly meanActivity: number
  /** The same over the time in which both stages ran; NaN if they never did. */
  readonly corunningActivity: number
}

export interface RuntimeOptions {
  readonly spec: OmniSpec
  readonly sharing: SharingMode
  readonly workload: Workload
  /** What the requests of the workload cost the model. */
  readonly plan: RequestPlan
  readonly scheduler: RuntimeScheduler
  /** Stop at this virtual time; what has not ended is unfinished. @default until all work is done */
  readonly untilMs?: number
  /** Called now and then with the number of requests that have ended. */
  readonly onProgress?: (ended: number) => void
}

/** Columns of the series. */
const SERIES = ['waiting', 'protected', 'capSms', 'pressure', 'downstream'] as const

/** An engine that finds nothing visible asks again after this long, doubling up to the longest pause. */
const RETRY_MS = 1
const LONGEST_RETRY_MS = 64
/** Empty steps in a row, with nothing else to come, after which no step will ever show a request: no rotation is that long. */
const STUCK_AFTER = 10_000

// Ranks of events of one instant: what ends frees room before what arrives asks for it.
const RANK = { sharedDone: 0, downstreamDone: 1, arrival: 2, retry: 3 } as const

/** A runtime inside somebody else's simulation: its requests are brought to it. */
export interface OmniRuntime {
  /** The request reaches the runtime now. False: it could never run, and is booked as refused. */
  arrive(request: number): boolean
  /** What the run was, once it is over. */
  result(): RuntimeRun
}

/** Where a runtime is one of several: the clock and the record that they share. */
export interface RuntimeSurroundings {
  readonly simulation: Simulation
  readonly record: RunRecord
  /** Called with each first response and each end. */
  readonly onFirstResponse?: (request: number) => void
  readonly onEnd?: (request: number) => void
}

export function runOmni(options: RuntimeOptions): RuntimeRun {
  const { workload } = options
  const simulation = createSimulation()
  const runtime = createOmniRuntime(options, {
    simulation,
    record: createRunRecord(workload.size),
  })
  const arrival = simulation.kind(RANK.arrival, (request) => {
    if (request + 1 < workload.size) scheduleArrival(request + 1)
    runtime.arrive(request)
  })
  function scheduleArrival(request: number): void {
    simulation.at(workload.arrivalMs[request] as number, arrival, request)
  }
  if (workload.size > 0) scheduleArrival(0)
  simulation.run(options.untilMs)
  return runtime.result()
}

export function createOmniRuntime(
  options: RuntimeOptions,
  { simulation, record, onFirstResponse, onEnd }: RuntimeSurroundings,
): OmniRuntime {
  const { spec, workload, plan, scheduler } = options
  const coRunning = createCoRunning(options.sharing, spec.sharing)
  const meter = createActivityMeter(spec.sharing.pressurePeriodMs)
  // Arrivals alone fill half the buckets: most runs never have to double them.
  const lastArrivalMs = workload.arrivalMs[workload.size - 1] ?? 0
  const recorder = createSeriesRecorder(SERIES, { bucketMs: Math.max(1000, lastArrivalMs / 256) })
  const values = new Float64Array(SERIES.length).fill(Number.NaN)
  const sharedPresence: Presence = { duty: 0, bandwidth: 0, compute: 0 }
  const downstreamPresence: Presence = { duty: 0, bandwidth: 0, compute: 0 }
  const work: GpuWork = { computeMs: 0, memoryMs: 0 }
  const ofClass = (request: number) => workload.classes[workload.classIndex[request] as number]
  const { mechanism, queuePlaces } = spec.handOver
  /** Decoded requests that the next stage has not taken, first come first. */
  const held: number[] = []
  let sharedBusy = false
  let downstreamBusy = false
  let sharedFraction = 0
  let retryMs = RETRY_MS
  let retryPending = false
  let lastRecordMs = 0
  let ended = 0
  let steps = 0
  let emptySteps = 0
  let emptyInARow = 0

  const isHeld = (request: number): boolean =>
    mechanism !== 'free' &&
    ofClass(request)?.path === 'long' &&
    (mechanism === 'until-done' || !downstream.accepts(queuePlaces))

  const shared = createSharedStage(spec, plan, scheduler, {
    holds: isHeld,
    firstToken(request, nowMs) {
      record.firstTokenMs[request] = nowMs
      if (ofClass(request)?.path === 'short') respond(request, nowMs)
    },
    decoded(request, nowMs) {
      record.decodedMs[request] = nowMs
      if (ofClass(request)?.path === 'short') {
        finish(request, nowMs)
        return
      }
      if (!isHeld(request)) {
        handOver(request)
        return
      }
      scheduler.handedOver(request)
      if (mechanism === 'until-done') {
        downstream.enter(request)
        startUnit()
      } else held.push(request)
    },
    admitted(request) {
      if (Number.isNaN(record.admittedMs[request])) record.admittedMs[request] = simulation.nowMs
    },
  })
  const downstream = createDownstreamStage(spec, plan, {
    started(request) {
      record.downstreamStartMs[request] = simulation.nowMs
    },
    firstResponse: respond,
    finished(request, nowMs) {
      if (mechanism === 'until-done') shared.release(request)
      finish(request, nowMs)
    },
  })

  function handOver(request: number): void {
    scheduler.enterDownstream(request)
    downstream.enter(request)
    startUnit()
  }

  /** Whoever waits for room downstream gives its place back once there is some, first come first served. */
  function handOverHeld(): void {
    while (held.length > 0 && downstream.accepts(queuePlaces)) {
      const request = held.shift() as number
      shared.release(request)
      handOver(request)
    }
  }

  scheduler.onShed = (request) => {
    record.outcome[request] = OUTCOME.refused
    end(request)
  }

  function respond(request: number, nowMs: number): void {
    record.firstResponseMs[request] = nowMs
    scheduler.firstResponse(request, nowMs)
    onFirstResponse?.(request)
  }

  function finish(request: number, nowMs: number): void {
    record.finishedMs[request] = nowMs
    record.outcome[request] = OUTCOME.completed
    scheduler.finish(request)
    end(request)
  }

  function end(request: number): void {
    onEnd?.(request)
    ended++
    if ((ended & 0xff) === 0) options.onProgress?.(ended)
  }

  const sharedDone = simulation.kind(RANK.sharedDone, () => {
    sharedBusy = false
    meter.set('shared', 0, simulation.nowMs)
    setPresence(sharedPresence, 0, 0)
    shared.complete(simulation.nowMs)
    startStep()
  })
  const downstreamDone = simulation.kind(RANK.downstreamDone, () => {
    downstreamBusy = false
    meter.set('downstream', 0, simulation.nowMs)
    setPresence(downstreamPresence, 0, 0)
    downstream.complete(simulation.nowMs)
    handOverHeld()
    startUnit()
    wake()
  })
  const retry = simulation.kind(RANK.retry, () => {
    retryPending = false
    if (!sharedBusy) startStep()
  })

  function arrive(request: number): boolean {
    if (!shared.accepts(request)) {
      record.outcome[request] = OUTCOME.refused
      end(request)
      return false
    }
    scheduler.arrive(request, simulation.nowMs)
    wake()
    return true
  }

  /** Something changed: an idle engine looks again at once, as one that polls would. */
  function wake(): void {
    retryMs = RETRY_MS
    if (!sharedBusy) startStep()
  }

  function startStep(): void {
    const nowMs = simulation.nowMs
    meter.sample(nowMs)
    const active = downstream.numRunning + downstream.numQueued > 0
    if (scheduler.waiting + shared.numRunning - shared.numHeld === 0) {
      observe(nowMs, active)
      return
    }
    scheduler.step(nowMs, meter.value, meter.timestampMs, active)
    observe(nowMs, active)
    if (!shared.compose(work)) {
      emptySteps++
      emptyInARow++
      if (emptyInARow > STUCK_AFTER && simulation.waiting === 0) throw stuck(scheduler.waiting)
      if (!retryPending) {
        simulation.after(retryMs, retry)
        retryPending = true
        retryMs = Math.min(LONGEST_RETRY_MS, retryMs * 2)
      }
      return
    }
    retryMs = RETRY_MS
    emptyInARow = 0
    steps++
    sharedBusy = true
    sharedFraction = Math.min(1, scheduler.capSms / spec.totalSms)
    const gpuMs = coRunning.sharedMs(work, sharedFraction, downstreamPresence, shared.prefills)
    const hostMs = spec.shared.hostMs + spec.shared.hostMsPerAnswerToken * shared.decodedTokens
    setPresence(sharedPresence, gpuMs, hostMs)
    meter.set('shared', sharedPresence.duty, nowMs)
    simulation.after(gpuMs + hostMs, sharedDone)
  }

  function startUnit(): void {
    if (downstreamBusy || !downstream.compose(work)) return
    downstreamBusy = true
    const { hostMsPerUnit } = spec.downstream
    const held = sharedBusy ? sharedFraction : 0
    const gpuMs = coRunning.downstreamMs(work, held, sharedPresence)
    setPresence(downstreamPresence, gpuMs, hostMsPerUnit)
    meter.set('downstream', downstreamPresence.duty, simulation.nowMs)
    simulation.after(gpuMs + hostMsPerUnit, downstreamDone)
  }

  /** From the work just composed; an idle stage has none. */
  function setPresence(of: Presence, gpuMs: number, hostMs: number): void {
    const alone = Math.max(work.computeMs, work.memoryMs)
    of.duty = gpuMs === 0 ? 0 : gpuMs / (gpuMs + hostMs)
    of.bandwidth = gpuMs === 0 ? 0 : work.memoryMs / alone
    of.compute = gpuMs === 0 ? 0 : work.computeMs / alone
  }

  /** Books the values that held since the last step, then renews them. */
  function observe(nowMs: number, active: boolean): void {
    recorder.record(lastRecordMs, nowMs, values)
    lastRecordMs = nowMs
    values[0] = scheduler.waiting
    values[1] = scheduler.protectedWaiting
    values[2] = scheduler.capSms
    values[3] = meter.value
    values[4] = active ? downstream.numRunning + downstream.numQueued : 0
  }

  return {
    arrive,
    result() {
      observe(simulation.nowMs, false)
      options.onProgress?.(ended)
      return {
        record,
        series: recorder.build(),
        virtualMs: simulation.nowMs,
        events: simulation.events,
        steps,
        emptySteps,
        preemptions: shared.preemptions,
        meanActivity: meter.mean(simulation.nowMs),
        corunningActivity: meter.corunningMean(simulation.nowMs),
      }
    },
  }
}

function stuck(waiting: number): HorizonError {
  return new HorizonError('ERR_SIM_STUCK', 'the policy shows nothing although nothing runs', {
    got: `${waiting} requests waiting, ${STUCK_AFTER} empty steps in a row`,
    hint: 'Show at least one request while the engine is idle (workConserving does)',
  })
}
