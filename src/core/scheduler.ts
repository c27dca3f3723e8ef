/**
 * @module
 * The scheduler: one `Decision` per engine step, from a policy composed of ports. This file is the API and the order of one step;
 * each idea has its own file.
 */
import { bucketCell, bucketInCell, bucketMs, NUM_BUCKETS } from './bucket.js'
import { checkInput, staleHandle, wrongWork } from './call-checks.js'
import type { Decision, MutableDecision } from './decision.js'
import { expectThat, HorizonError } from './errors.js'
import { defaultEstimateOptions, Estimates } from './estimates.js'
import { createEmitter, emitSafely, type SchedulerEmitter } from './events.js'
import { explainRequest } from './explain.js'
import { Groups } from './groups.js'
import { createLadder, type Ladder, NO_LADDER } from './ladder.js'
import { Lifecycle } from './lifecycle.js'
import { type Metrics, MetricsRecorder } from './metrics.js'
import type {
  Actuator,
  CapController,
  Policy,
  PressureSample,
  PressureSource,
  Profiler,
  ViewFilter,
} from './ports.js'
import { INPUT, WORK } from './ports.js'
import { type ClassTable, createClassTable, LONG } from './request-class.js'
import {
  CHUNK_BITS,
  CHUNK_MASK,
  DECODE,
  LOST,
  PREEMPTED,
  PREFILL,
  RequestTable,
} from './request-table.js'
import type { ArrivingRequest, PressureReading, SchedulerOptions } from './scheduler-options.js'
import { Signals, TIME } from './signals.js'
import { countStep } from './step-counts.js'
import { LazyView } from './view.js'
import { WaitingSet } from './waiting-set.js'

/** Longest solo time that is told apart, ms: the last bucket. Keeps sums of them finite. */
const MAX_WORK_MS = bucketMs[NUM_BUCKETS - 1]!

const PHASES = ['short', 'long'] as const

/**
 * Schedules the requests of one shared stage. Single-threaded; never reads a clock.
 *
 * Every method that takes a handle throws `ERR_CORE_STALE_HANDLE` for a handle that is not of a live request. An error leaves the
 * state as it was.
 */
export class Scheduler<Name extends string = string> {
  readonly classes: ClassTable<Name>
  readonly ladder: Ladder
  readonly policy: Policy
  readonly events: SchedulerEmitter = createEmitter()
  /**
   * The allocation-free way in: `cells[0]` is now in ms, `cells[1]` pressure (NaN for none), `inputs` those of the next arrival
   * (see `INPUT`). Then call `arriveNow` and `stepNow`.
   */
  readonly cells: Float64Array = Float64Array.of(0, Number.NaN)
  readonly inputs: Float64Array = new Float64Array(4)

  /** @internal */ readonly table: RequestTable
  /** @internal */ readonly waitingSet: WaitingSet
  /** @internal */ readonly signals: Signals
  /** @internal */ readonly groups: Groups
  /** @internal */ readonly estimates: Estimates
  /** @internal */ readonly profiler: Profiler
  /** @internal */ readonly view: LazyView
  /** @internal */ readonly lifecycle: Lifecycle
  /** @internal */ readonly ids: Map<number, string> = new Map()
  readonly #handles = new Map<string, number>()
  readonly #recorder: MetricsRecorder
  readonly #filters: readonly ViewFilter[]
  readonly #capController: CapController
  readonly #actuator: Actuator | undefined
  readonly #source: PressureSource | undefined
  readonly #sample: PressureSample = {
    value: Number.NaN,
    kind: 'none',
    timestampMs: Number.NEGATIVE_INFINITY,
    source: 'none',
  }
  readonly #work = new Float64Array(3)
  readonly #sloCell = new Float64Array(1)
  /** `[0]`: latest time seen; `[1]`: timestamp of the latest pressure sample. */
  readonly #last = Float64Array.of(Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY)
  /** `[0]`: timestamp of the pressure in `cells[1]`. A cell, for a double that crosses a call would be boxed. */
  readonly #stamp = new Float64Array(1)
  readonly #stale: Uint8Array
  #numStale = 0
  #numSteps = 0
  readonly #result: MutableDecision
  readonly #changedSlots: number[] = []

  constructor(options: SchedulerOptions<Name>) {
    const classes = createClassTable(options.classes)
    this.classes = classes
    this.policy = options.policy
    this.profiler = options.profiler
    this.ladder = options.ladder === undefined ? NO_LADDER : createLadder(options.ladder)
    this.table = new RequestTable({
      initialRequests: options.capacity?.initialRequests ?? 0,
      maxRequests: options.capacity?.maxRequests ?? 1 << 20,
    })
    this.#stale = new Uint8Array(classes.count)
    this.estimates = new Estimates(
      classes,
      { ...defaultEstimateOptions, ...options.estimates },
      (c) => {
        this.#stale[c] = 1
        this.#numStale += 1
      },
    )
    const { slowdown, waitMs } = this.estimates
    const { order, urgency } = this.policy
    this.waitingSet = new WaitingSet(
      this.table,
      classes,
      order,
      urgency,
      this.cells,
      slowdown,
      waitMs,
    )
    this.signals = new Signals(classes, this.waitingSet.counts)
    this.groups = new Groups(classes)
    this.#recorder = new MetricsRecorder(classes)
    this.lifecycle = new Lifecycle(
      this.table,
      classes,
      this.waitingSet,
      this.signals,
      this.estimates,
      this.#recorder,
      this.cells,
    )
    this.view = new LazyView(
      this.table,
      this.waitingSet,
      this.groups,
      classes,
      order,
      this.lifecycle.alwaysHead,
    )
    this.#filters = this.policy.filters()
    this.#capController = this.policy.cap()
    this.#actuator = options.actuator
    this.#source = options.pressureSource
    this.#result = {
      step: -1,
      phase: 'none',
      passed: false,
      n: 0,
      view: this.view,
      level: -1,
      capSms: 0,
      headroomSms: 0,
      changed: false,
      waiting: 0,
      hidden: 0,
      protected: 0,
      lost: 0,
    }
  }

  /** Number of live requests. */
  get size(): number {
    return this.table.live
  }

  /** The decision of the last step; `step` is -1 before the first. */
  get decision(): Decision {
    return this.#result
  }

  /**
   * A request entered the API at `nowMs`. Its deadline is stamped here, once. Returns its handle.
   * Throws `ERR_CORE_CLASS`, `ERR_CORE_INPUT`, `ERR_CORE_DUPLICATE_ID`, `ERR_CORE_TIME`, `ERR_CORE_CLOCK_BACK`, `ERR_CORE_FULL`,
   * and `ERR_CORE_PROFILER` when the profiler answers with no time.
   */
  arrive(request: ArrivingRequest<Name>, nowMs: number): number {
    const c = this.classes.indexOf(request.class)
    if (c === -1) {
      throw new HorizonError('ERR_CORE_CLASS', 'unknown class', {
        field: 'class',
        expected: `one of ${this.classes.names.join(', ')}`,
        got: request.class,
      })
    }
    const promptTokens = checkInput('promptTokens', request.promptTokens, 0x7fffffff)
    const audioSeconds = checkInput('audioSeconds', request.audioSeconds, Number.MAX_VALUE)
    const images = checkInput('images', request.images, Number.MAX_VALUE)
    const videos = checkInput('videos', request.videos, Number.MAX_VALUE)
    const { id, sloMs } = request
    if (sloMs !== undefined && !(sloMs > 0 && Number.isFinite(sloMs))) {
      throw new HorizonError('ERR_CORE_INPUT', 'impossible SLO', {
        field: 'sloMs',
        expected: 'a finite number of ms above 0',
        got: sloMs,
      })
    }
    if (id !== undefined && this.#handles.has(id)) {
      throw new HorizonError('ERR_CORE_DUPLICATE_ID', 'the id belongs to a live request', {
        field: 'id',
        got: id,
      })
    }
    this.#checkTime(nowMs)
    if (this.table.live >= this.table.maxRequests) {
      throw new HorizonError('ERR_CORE_FULL', 'no room for another request', {
        field: 'capacity.maxRequests',
        got: this.table.maxRequests,
        hint: 'Raise capacity.maxRequests, or refuse requests earlier',
      })
    }
    this.inputs[INPUT.promptTokens] = promptTokens
    this.inputs[INPUT.audioSeconds] = audioSeconds
    this.inputs[INPUT.images] = images
    this.inputs[INPUT.videos] = videos
    this.#annotate(c)
    this.cells[0] = nowMs
    const handle = this.#enqueue(c, sloMs)
    if (id !== undefined) {
      this.#handles.set(id, handle)
      this.ids.set(handle, id)
    }
    return handle
  }

  /** `arrive` without checks or allocation: class index given, `cells[0]` and `inputs` filled in. 0 when the table is full. @hot */
  arriveNow(classIndex: number): number {
    if (this.table.live >= this.table.maxRequests) return 0
    this.#annotate(classIndex)
    return this.#enqueue(classIndex, undefined)
  }

  /**
   * One scheduling step at `nowMs`. `pressure`: memory pressure in [0, 1], as a number (new in each step) or a reading with its
   * timestamp; left out, the pressure source is sampled, if there is one. `downstreamActive` defaults to what the scheduler knows.
   * Throws `ERR_CORE_TIME`, `ERR_CORE_CLOCK_BACK`, `ERR_CORE_PRESSURE`.
   */
  step(nowMs: number, pressure?: number | PressureReading, downstreamActive?: boolean): Decision {
    const value = typeof pressure === 'object' ? pressure.value : pressure
    const stampMs = typeof pressure === 'object' ? pressure.timestampMs : nowMs
    if (value !== undefined && !(value >= 0 && value <= 1)) {
      throw new HorizonError('ERR_CORE_PRESSURE', 'impossible pressure', {
        field: 'pressure',
        expected: 'a number in [0, 1]',
        got: value,
      })
    }
    this.#checkTime(nowMs)
    expectThat(
      Number.isFinite(stampMs),
      'ERR_CORE_PRESSURE',
      'impossible time of a pressure sample',
      'pressure.timestampMs',
      'a finite number of ms on the clock of nowMs',
      stampMs,
    )
    this.cells[0] = nowMs
    this.cells[1] = value ?? Number.NaN
    this.#stamp[0] = stampMs
    return this.#decide(downstreamActive)
  }

  /** `step` without checks or allocation: `cells[0]` is now, `cells[1]` a new pressure sample or NaN. @hot */
  stepNow(downstreamActive: boolean): Decision {
    this.#stamp[0] = this.cells[0]!
    return this.#decide(downstreamActive)
  }

  /** The engine gave the request a shared-stage slot. @hot */
  admit(handle: number): void {
    this.lifecycle.admit(this.#slotOf(handle), this.view)
  }

  /** Tokens done so far: cumulative, so that a report may come twice or a step late. @hot */
  progress(handle: number, prefillTokensDone: number, decodeTokensDone: number): void {
    this.lifecycle.progress(this.#slotOf(handle), prefillTokensDone, decodeTokensDone)
  }

  /** The engine took the slot back and will recompute: the request waits again, visible in every step. */
  preempt(handle: number): void {
    this.lifecycle.preempt(this.#slotOf(handle))
  }

  /** A waiting request must not be hidden from now on. */
  pin(handle: number): void {
    this.lifecycle.pin(this.#slotOf(handle))
  }

  /** The request left the shared stage for its downstream stage. */
  enterDownstream(handle: number): void {
    this.lifecycle.enterDownstream(this.#slotOf(handle))
  }

  /** The user got the first response at `nowMs` (TTFT, TTFO or end to end, by class). Returns whether the deadline was met. */
  firstResponse(handle: number, nowMs: number): boolean {
    const slot = this.#slotOf(handle)
    const met = this.lifecycle.firstResponse(slot, nowMs)
    if (this.events.listenerCount('firstResponse') > 0) {
      const arrivalMs = this.table.chunks[slot >> CHUNK_BITS]!.arrivalMs[slot & CHUNK_MASK]!
      emitSafely(this.events, 'firstResponse', handle, nowMs - arrivalMs, met)
    }
    return met
  }

  /** The request is done. */
  finish(handle: number): void {
    this.#end(handle, true)
  }

  /** The client gave up, or the runtime dropped it. */
  cancel(handle: number): void {
    this.#end(handle, false)
  }

  /** Whether the engine may schedule the request in this step: false only for a waiting request that is hidden. @hot */
  isVisible(handle: number): boolean {
    return this.view.shows(this.#slotOf(handle))
  }

  /** Whether the request waits for a shared-stage slot. */
  isWaiting(handle: number): boolean {
    return this.#stateOf(handle) <= PREEMPTED
  }

  /** Whether the request holds a shared-stage slot. */
  isScheduled(handle: number): boolean {
    const state = this.#stateOf(handle)
    return state === PREFILL || state === DECODE
  }

  has(handle: number): boolean {
    return this.table.slotOf(handle) !== -1
  }

  /** The handle of a live request by its id. */
  handleOf(id: string): number | undefined {
    return this.#handles.get(id)
  }

  idOf(handle: number): string | undefined {
    return this.ids.get(handle)
  }

  /** Publishes a slowdown that the caller measured, at least 1; rounded to an eighth of an octave, with hysteresis. */
  setSlowdown(className: Name, factor: number): void {
    const c = this.classes.indexOf(className)
    if (c === -1 || !(factor >= 1 && Number.isFinite(factor))) {
      throw new HorizonError('ERR_CORE_INPUT', 'impossible slowdown', {
        field: `slowdown.${className}`,
        expected: 'a known class and a finite factor of at least 1',
        got: factor,
      })
    }
    this.estimates.setSlowdown(c, factor)
  }

  /** What the scheduler thinks of a request and what it did with it in the last step, in words. */
  explain(handle: number): string {
    return explainRequest(this, this.#slotOf(handle))
  }

  metrics(): Metrics<Name> {
    return this.#recorder.snapshot(
      this.waitingSet.everProtected,
      this.waitingSet.everLost,
    ) as Metrics<Name>
  }

  /** Smoothed pressure in [0, 1]; NaN before the first sample. */
  smoothedPressure(): number {
    return this.#capController.smoothed()
  }

  /** Asks the profiler, and holds its answer to what the estimates can carry. */
  #annotate(classIndex: number): void {
    const work = this.#work
    this.profiler.annotate(classIndex, this.inputs, work)
    for (let k = 0; k < work.length; k++) {
      if (!(work[k]! >= 0)) throw wrongWork(this.classes.names[classIndex]!, work[k]!)
      if (work[k]! > MAX_WORK_MS) work[k] = MAX_WORK_MS
    }
  }

  /** Puts the annotated request into its list. The table has room. */
  #enqueue(classIndex: number, sloMs: number | undefined): number {
    const { inputs, waitingSet } = this
    const work = this.#work
    const sloCell = this.#sloCell
    if (this.cells[0]! > this.#last[0]!) this.#last[0] = this.cells[0]!
    bucketCell[0] = work[WORK.shared]! + work[WORK.downstream]!
    const bucket = bucketInCell()
    let list: number
    if (sloMs === undefined) {
      sloCell[0] = this.classes.sloMs[classIndex]!
      list = waitingSet.lists.listOf(classIndex, bucket, sloCell[0]!)
    } else {
      sloCell[0] = sloMs
      list = waitingSet.lists.customListOf(classIndex, bucket, sloMs)
    }
    const promptTokens = inputs[INPUT.promptTokens]! | 0
    const slot = this.lifecycle.arrive(classIndex, promptTokens, list, work, sloCell)
    waitingSet.flush()
    return this.table.handleOf(slot)
  }

  #decide(downstreamActive: boolean | undefined): Decision {
    const { signals, groups, waitingSet, ladder } = this
    const result = this.#result
    if (this.cells[0]! > this.#last[0]!) this.#last[0] = this.cells[0]!
    this.#watchStatus()
    if (this.#numStale > 0) this.#reestimate()
    waitingSet.refresh()
    this.#renewSignals(downstreamActive)
    groups.reset()
    for (let f = 0; f < this.#filters.length; f++) this.#filters[f]!.filter(signals, groups)
    groups.resolve(signals, this.policy.workConserving)
    const level = this.#capController.cap(signals, ladder)
    result.changed = level !== result.level
    if (result.changed) this.#apply(level)
    result.step = this.#numSteps
    result.level = level
    result.capSms = ladder.sms[level]!
    result.headroomSms = Math.max(0, ladder.totalSms - result.capSms)
    result.phase = groups.phase === -1 ? 'none' : PHASES[groups.phase]!
    result.passed = groups.passed
    result.n = groups.n
    this.view.begin(this.#numSteps)
    countStep(this.classes, waitingSet.counts, groups, signals, this.view, this.#recorder, result)
    this.#numSteps = (this.#numSteps + 1) & 0x7fffffff
    this.#announce()
    return result
  }

  #renewSignals(downstreamActive: boolean | undefined): void {
    const { signals, cells } = this
    const last = this.#last
    const { times } = signals
    signals.step = this.#numSteps
    signals.sumByPath()
    times[TIME.now] = cells[0]!
    let value = cells[1]!
    let stampMs = this.#stamp[0]!
    // biome-ignore lint/suspicious/noSelfCompare: NaN means that the caller gave no sample
    if (value !== value && this.#source !== undefined) {
      if (this.#source.sample(this.#sample)) {
        value = this.#sample.value
        stampMs = this.#sample.timestampMs
      } else times[TIME.pressure] = Number.NaN
    }
    signals.pressureIsNew =
      value >= 0 && value <= 1 && stampMs > last[1]! && stampMs < Number.POSITIVE_INFINITY
    if (signals.pressureIsNew) {
      last[1] = stampMs
      times[TIME.pressure] = value
      times[TIME.pressureTimestamp] = stampMs
    }
    signals.downstreamActive = downstreamActive ?? signals.sumOn(LONG, signals.inDownstream) > 0
    signals.appliedLevel =
      this.#actuator === undefined ? this.#result.level : this.#actuator.readBack()
  }

  #reestimate(): void {
    for (let c = 0; c < this.classes.count; c++) {
      if (this.#stale[c] === 0) continue
      this.#stale[c] = 0
      this.waitingSet.reestimate(c)
    }
    this.#numStale = 0
  }

  #apply(level: number): void {
    if (this.#result.level !== -1) this.#recorder.capChanges += 1
    this.#actuator?.apply(level)
  }

  #watchStatus(): void {
    const wanted = this.events.listenerCount('protected') + this.events.listenerCount('lost') > 0
    if (wanted === (this.waitingSet.onStatus !== undefined)) return
    this.waitingSet.onStatus = wanted
      ? (slot, status) => this.#changedSlots.push(this.table.handleOf(slot), status)
      : undefined
  }

  #announce(): void {
    const { events } = this
    const result = this.#result
    const changedSlots = this.#changedSlots
    for (let k = 0; k < changedSlots.length; k += 2) {
      emitSafely(events, changedSlots[k + 1] === LOST ? 'lost' : 'protected', changedSlots[k]!)
    }
    changedSlots.length = 0
    if (result.changed && events.listenerCount('cap') > 0)
      emitSafely(events, 'cap', result.level, result.capSms)
    if (events.listenerCount('decision') > 0) emitSafely(events, 'decision', result)
  }

  #end(handle: number, finished: boolean): void {
    this.lifecycle.end(this.#slotOf(handle), finished)
    const id = this.ids.get(handle)
    if (id !== undefined) {
      this.ids.delete(handle)
      this.#handles.delete(id)
    }
    if (this.events.listenerCount('end') > 0) emitSafely(this.events, 'end', handle, finished)
  }

  #stateOf(handle: number): number {
    const slot = this.#slotOf(handle)
    return this.table.chunks[slot >> CHUNK_BITS]!.state[slot & CHUNK_MASK]!
  }

  #slotOf(handle: number): number {
    const slot = this.table.slotOf(handle)
    if (slot === -1) throw staleHandle(handle)
    return slot
  }

  #checkTime(nowMs: number): void {
    expectThat(
      nowMs >= 0 && nowMs < Number.POSITIVE_INFINITY,
      'ERR_CORE_TIME',
      'impossible time',
      'nowMs',
      'a finite number of ms, at least 0',
      nowMs,
    )
    if (nowMs < this.#last[0]!) {
      throw new HorizonError('ERR_CORE_CLOCK_BACK', 'the clock went back', {
        field: 'nowMs',
        expected: `at least ${this.#last[0]}`,
        got: nowMs,
        hint: 'Use one monotonic clock for arrivals and steps',
      })
    }
  }
}

/** Makes a scheduler from a policy. `createHorizon` of the main entry does the same from a configuration. */
export function createScheduler<const Name extends string>(
  options: SchedulerOptions<Name>,
): Scheduler<Name> {
  return new Scheduler(options)
}
