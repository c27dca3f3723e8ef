/**
 * @module
 * N simulated runtimes behind pickers, in one simulation. A picker sees what a real one sees: scrapes that are old by up to an interval
 * and a delay, and its own requests. Requests go to the pickers in turn. An engine that is lost takes with it what had its first
 * response; the rest is sent again at once, through the same picker, and its clock does not start anew.
 */
import { HorizonError, type Metrics } from '../../core/index.js'
import {
  createEndpointBook,
  createEndpointOutlook,
  createPick,
  type EndpointBook,
  type EndpointOutlook,
  type EndpointSample,
  emptySample,
  type PickRequest,
} from '../../policies/index.js'
import type { Calibration } from '../calibrate/calibration.js'
import { horizonScheduler } from '../omni/horizon-scheduler.js'
import { planRequests, type RequestPlan } from '../omni/request-plan.js'
import { createRunRecord, OUTCOME, type RunRecord } from '../omni/run-record.js'
import { createOmniRuntime, type OmniRuntime } from '../omni/runtime.js'
import type { OmniSpec } from '../omni/spec.js'
import type { PolicyCase } from '../policy-case.js'
import { createRng, type Rng } from '../rng.js'
import { createSimulation } from '../simulation.js'
import { type RunSummary, summarize } from '../summary.js'
import type { Workload } from '../workload/workload.js'
import type { PickerCase } from './picker-case.js'

/** What a stock picker can scrape of an engine, beside what we publish. */
export interface StockSample {
  /** Waiting requests in the first series of `vllm:num_requests_waiting`: the shared stage's. */
  firstSeries: number
  /** Waiting in every stage. */
  waiting: number
  /** Waiting or running in any stage. */
  active: number
}

/** One picker while it runs. */
export interface PickerState {
  readonly book: EndpointBook
  readonly stock: readonly StockSample[]
  readonly rng: Rng
}

/** One engine as the model knows it: its runtime, and the calibration of its own GPU. */
export interface FleetEngine {
  readonly spec: OmniSpec
  readonly calibration: Calibration
}

export interface FleetOptions {
  /** SLOs are those of the first one's calibration. */
  readonly engines: readonly FleetEngine[]
  readonly workload: Workload
  readonly policy: PolicyCase
  readonly picker: PickerCase
  /** Pickers side by side that share nothing. @default 1 */
  readonly pickers?: number
  /** ms between scrapes of an endpoint. @default 50 */
  readonly scrapeMs?: number
  /** ms from the moment a scrape shows to the moment its picker has it. @default 5 */
  readonly scrapeDelayMs?: number
  /** Engines that are lost, and when. */
  readonly losses?: readonly { readonly engine: number; readonly atMs: number }[]
  readonly seed: number
}

export interface FleetRun {
  readonly summary: RunSummary
  readonly record: RunRecord
  readonly virtualMs: number
  readonly events: number
  /** Requests that each engine got, those sent again included. */
  readonly perEngine: readonly number[]
  /** Requests sent again after a loss, and those lost with their first response out. */
  readonly resent: number
  readonly brokenOff: number
  readonly metrics: readonly Metrics[]
}

interface Seat {
  readonly runtime: OmniRuntime
  readonly record: RunRecord
  readonly outlook: EndpointOutlook
  readonly sample: EndpointSample
  readonly waiting: () => number
  readonly active: () => number
  readonly queuedDownstream: () => number
  readonly metrics: () => Metrics
  isLost: boolean
}

/** What a scrape showed when it was taken. */
interface Answer {
  readonly sample: EndpointSample
  readonly stock: StockSample
}

/** After the ends of an instant, before its arrivals. */
const RANK = { loss: 1, scrape: 1, scraped: 1, arrival: 2 } as const

export function runFleet(options: FleetOptions): FleetRun {
  const { engines, workload, picker: pickerCase } = options
  const { pickers: numPickers = 1, scrapeMs = 50, scrapeDelayMs = 5, losses = [] } = options
  checkFleet(engines.length, numPickers, scrapeMs, scrapeDelayMs)
  const first = engines[0] as FleetEngine
  const plan = planRequests(first.spec, workload)
  const simulation = createSimulation()
  const n = workload.size
  const seatOf = new Int32Array(n).fill(-1)
  const sentMs = new Float64Array(n)
  const isBroken = new Uint8Array(n)
  const predictedMs = new Float64Array(n).fill(Number.NaN)
  const perEngine = engines.map(() => 0)
  const slo = sloOf(workload, first.calibration)
  let ended = 0
  let resent = 0
  let brokenOff = 0

  const pickers = Array.from({ length: numPickers }, (_, p): PickerState => {
    const book = createEndpointBook(workload.classes, engines.length)
    for (let e = 0; e < engines.length; e++) book.add()
    return {
      book,
      stock: engines.map(() => ({ firstSeries: 0, waiting: 0, active: 0 })),
      rng: createRng(options.seed).fork(`picker ${p}`),
    }
  })
  const rules = pickers.map((state) => pickerCase.create(state))
  const pickerOf = (request: number): number => request % numPickers

  const seats = engines.map((engine, e) => createSeat(engine, e))

  function createSeat({ spec, calibration }: FleetEngine, e: number): Seat {
    // Every engine holds requests to the deadlines of the fleet, by estimates of its own GPU.
    const own: Calibration = {
      ...calibration,
      classes: calibration.classes.map((of) => ({
        ...of,
        sloMs: first.calibration.classes.find(({ name }) => name === of.name)?.sloMs ?? of.sloMs,
      })),
    }
    const ownPlan: RequestPlan = spec === first.spec ? plan : planRequests(spec, workload)
    const scheduler = horizonScheduler(
      spec,
      workload,
      options.policy.policy(own, spec),
      own,
      ownPlan.prefillTokens,
    )
    const { horizon } = scheduler
    const outlook = createEndpointOutlook(horizon, {
      slots: spec.shared.slots,
      downstreamConcurrency: spec.downstream.slots,
    })
    horizon.events.on('decision', () => outlook.tick(simulation.nowMs))
    const record = createRunRecord(n)
    const here = (request: number): boolean => seatOf[request] === e && !seat.isLost
    const runtime = createOmniRuntime(
      { spec, sharing: options.policy.sharing, workload, plan: ownPlan, scheduler },
      {
        simulation,
        record,
        onFirstResponse(request) {
          if (!here(request) || Number.isNaN(predictedMs[request] as number)) return
          const { book } = pickers[pickerOf(request)] as PickerState
          book.responded(
            e,
            simulation.nowMs - (sentMs[request] as number),
            predictedMs[request] as number,
          )
        },
        onEnd(request) {
          if (!here(request)) return
          ended++
          const { book } = pickers[pickerOf(request)] as PickerState
          book.ended(e, workload.classIndex[request] as number)
        },
      },
    )
    const { signals } = horizon
    const sum = (counts: Int32Array): number => counts.reduce((total, count) => total + count, 0)
    const seat: Seat = {
      runtime,
      record,
      outlook,
      sample: emptySample(workload.classes.length),
      waiting: () => scheduler.waiting,
      active: () => scheduler.waiting + sum(signals.inShared) + sum(signals.inDownstream),
      queuedDownstream: () => Math.max(0, sum(signals.inDownstream) - spec.downstream.slots),
      metrics: () => horizon.metrics(),
      isLost: false,
    }
    return seat
  }

  /** Classes of the schedulers stand in the order of the calibration, those of a book in that of the workload. */
  const order = workload.classes.map((of) =>
    first.calibration.classes.findIndex(({ name }) => name === of.name),
  )

  const request: PickRequest = { classIndex: 0, budgetMs: 0, affinity: -1, allowed: undefined }
  const pick = createPick()

  function send(index: number): void {
    const p = pickerOf(index)
    const { book } = pickers[p] as PickerState
    const classIndex = workload.classIndex[index] as number
    request.classIndex = classIndex
    request.budgetMs =
      (workload.arrivalMs[index] as number) + (slo[classIndex] as number) - simulation.nowMs
    rules[p]?.(request, simulation.nowMs, pick)
    const e = pick.endpoint
    if (e < 0) {
      ended++
      return
    }
    seatOf[index] = e
    sentMs[index] = simulation.nowMs
    // What was sent on without hope says nothing about the estimate.
    predictedMs[index] = pick.meets ? pick.predictedMs : Number.NaN
    perEngine[e] = (perEngine[e] ?? 0) + 1
    book.sent(e, classIndex)
    const seat = seats[e] as Seat
    seat.runtime.arrive(index)
  }

  const arrival = simulation.kind(RANK.arrival, (index) => {
    if (index + 1 < n) simulation.at(workload.arrivalMs[index + 1] as number, arrival, index + 1)
    send(index)
  })

  /** Answers under way: what a scrape showed when it was taken. */
  const underWay = pickers.map(() =>
    engines.map(
      (): Answer => ({
        sample: emptySample(workload.classes.length),
        stock: { firstSeries: 0, waiting: 0, active: 0 } as StockSample,
      }),
    ),
  )
  const scrape = simulation.kind(RANK.scrape, (p) => {
    const { book } = pickers[p] as PickerState
    for (const [e, seat] of seats.entries()) {
      if (seat.isLost) continue
      book.beginScrape(e, simulation.nowMs)
      seat.outlook.tick(simulation.nowMs)
      seat.outlook.read(seat.sample)
      const { sample, stock } = (underWay[p] as Answer[])[e] as Answer
      copySample(seat.sample, sample, order)
      stock.firstSeries = seat.waiting()
      stock.active = seat.active()
      stock.waiting = stock.firstSeries + seat.queuedDownstream()
    }
    simulation.after(scrapeDelayMs, scraped, p)
    if (ended < n) simulation.after(scrapeMs, scrape, p)
  })
  const scraped = simulation.kind(RANK.scraped, (p) => {
    const { book, stock } = pickers[p] as PickerState
    for (const [e, seat] of seats.entries()) {
      if (seat.isLost) continue
      const known = (underWay[p] as Answer[])[e] as Answer
      book.endScrape(e, known.sample)
      Object.assign(stock[e] as StockSample, known.stock)
    }
  })
  const loss = simulation.kind(RANK.loss, (e) => {
    const seat = seats[e] as Seat
    seat.isLost = true
    for (const { book } of pickers) book.remove(e)
    for (let i = 0; i < n; i++) {
      if (seatOf[i] !== e || seat.record.outcome[i] !== OUTCOME.unfinished) continue
      const { book } = pickers[pickerOf(i)] as PickerState
      book.ended(e, workload.classIndex[i] as number)
      if (Number.isNaN(seat.record.firstResponseMs[i] as number)) {
        resent++
        send(i)
      } else {
        brokenOff++
        ended++
        isBroken[i] = 1
      }
    }
  })

  if (n > 0) simulation.at(workload.arrivalMs[0] as number, arrival, 0)
  // Pickers do not scrape at the same instants.
  for (let p = 0; p < numPickers; p++) simulation.at((p * scrapeMs) / numPickers, scrape, p)
  for (const { engine, atMs } of losses) simulation.at(atMs, loss, engine)
  simulation.run()

  const record = createRunRecord(n)
  for (let i = 0; i < n; i++) {
    const from = seats[seatOf[i] as number]?.record
    if (from === undefined) continue
    record.outcome[i] = from.outcome[i] as number
    for (const column of [
      'admittedMs',
      'firstTokenMs',
      'decodedMs',
      'downstreamStartMs',
      'firstResponseMs',
      'finishedMs',
    ] as const)
      record[column][i] = from[column][i] as number
    // The model of a lost engine runs on, its answers reach nobody.
    if (isBroken[i] === 1) {
      record.outcome[i] = OUTCOME.unfinished
      record.finishedMs[i] = Number.NaN
    }
  }
  return {
    summary: summarize(workload, plan, record, first.calibration, simulation.nowMs),
    record,
    virtualMs: simulation.nowMs,
    events: simulation.events,
    perEngine,
    resent,
    brokenOff,
    metrics: seats.map((seat) => seat.metrics()),
  }
}

function sloOf(workload: Workload, calibration: Calibration): number[] {
  return workload.classes.map(
    (of) => calibration.classes.find(({ name }) => name === of.name)?.sloMs ?? Number.NaN,
  )
}

function copySample(from: EndpointSample, to: EndpointSample, order: readonly number[]): void {
  for (const [c, at] of order.entries()) {
    to.expectedMs[c] = from.expectedMs[at] as number
    to.waiting[c] = from.waiting[at] as number
    to.lost[c] = from.lost[at] as number
    to.inShared[c] = from.inShared[at] as number
    to.inFlight[c] = from.inFlight[at] as number
  }
  to.slots = from.slots
  to.holdMs = from.holdMs
  to.longStepMs = from.longStepMs
}

function checkFleet(engines: number, pickers: number, scrapeMs: number, delayMs: number): void {
  const check = (field: string, got: number, least: number, most: number): void => {
    if (got >= least && got <= most) return
    throw new HorizonError('ERR_SIM_FLEET', 'impossible fleet', {
      field,
      expected: `${least} to ${most}`,
      got,
    })
  }
  check('engines', engines, 1, 64)
  check('pickers', pickers, 1, 8)
  check('scrapeMs', scrapeMs, 1, 600_000)
  check('scrapeDelayMs', delayMs, 0, 600_000)
}
