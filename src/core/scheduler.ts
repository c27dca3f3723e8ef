/**
 * @module
 * The scheduler: one `Decision` per engine step, from a policy composed of ports. This file is the API; each idea has its own file.
 */

import { createArrivals } from './arrivals.js'
import { checkRecord, checkTime } from './call-checks.js'
import type { Decision } from './decision.js'
import { expectNumber, expectThat } from './errors.js'
import { explainRequest } from './explain.js'
import { createLifecycle, type Lifecycle } from './lifecycle.js'
import type { Metrics } from './metrics.js'
import { createOutlooks, type Outlook, type RequestInputs } from './outlook.js'
import { CHUNK_BITS, CHUNK_MASK, HANDED_OVER, PREEMPTED, PREFILL } from './request-table.js'
import type { ArrivingRequest, PressureReading, SchedulerOptions } from './scheduler-options.js'
import { createParts, type SchedulerParts } from './scheduler-parts.js'
import { createStep } from './step.js'

/**
 * Schedules the requests of one shared stage. Single-threaded; never reads a clock.
 *
 * Every method that takes a handle throws `ERR_CORE_STALE_HANDLE` for a handle that is not of a live request. An error leaves the
 * state as it was.
 */
export interface Scheduler<Name extends string = string> extends SchedulerParts<Name>, Lifecycle {
  /** Number of live requests. */
  readonly size: number
  /** The decision of the last step; `step` is -1 before the first. */
  readonly decision: Decision
  /**
   * A request entered the API at `nowMs`. Its deadline is stamped here, once. Returns its handle.
   * Throws `ERR_CORE_CLASS`, `ERR_CORE_INPUT`, `ERR_CORE_DUPLICATE_ID`, `ERR_CORE_TIME`, `ERR_CORE_CLOCK_BACK`, `ERR_CORE_FULL`,
   * and `ERR_CORE_PROFILER` when the profiler answers with no time.
   */
  arrive(request: ArrivingRequest<Name>, nowMs: number): number
  /** `arrive` without checks or allocation: class index given, `cells[0]` and `inputs` filled in. 0 when the table is full. @hot */
  arriveNow(classIndex: number): number
  /**
   * One scheduling step at `nowMs`. `pressure`: memory pressure in [0, 1], as a number (new in each step) or a reading with its
   * timestamp; left out, the pressure source is sampled, if there is one. `downstreamActive` defaults to what the scheduler knows.
   * Throws `ERR_CORE_TIME`, `ERR_CORE_CLOCK_BACK`, `ERR_CORE_PRESSURE`.
   */
  step(nowMs: number, pressure?: number | PressureReading, downstreamActive?: boolean): Decision
  /** `step` without checks or allocation: `cells[0]` is now, `cells[1]` a new pressure sample or NaN. @hot */
  stepNow(downstreamActive: boolean): Decision
  /** Whether the engine may schedule the request in this step: false only for a waiting request that is hidden. @hot */
  isVisible(handle: number): boolean
  /** Whether the request waits for a shared-stage slot. */
  isWaiting(handle: number): boolean
  /** Whether the request holds a shared-stage slot. */
  isScheduled(handle: number): boolean
  has(handle: number): boolean
  /** The handle of a live request by its id. */
  handleOf(id: string): number | undefined
  idOf(handle: number): string | undefined
  /** Publishes a slowdown that the caller measured, at least 1; rounded to an eighth of an octave, with hysteresis. */
  setSlowdown(className: Name, factor: number): void
  /**
   * What a request would meet if it arrived now (at the latest time that the scheduler has seen): its estimated first response, and how
   * it would count. Changes nothing. Throws
   * `ERR_CORE_CLASS` and `ERR_CORE_INPUT`.
   */
  outlook(className: Name, inputs?: RequestInputs): Outlook
  /** What the scheduler thinks of a request and what it did with it in the last step, in words. */
  explain(handle: number): string
  metrics(): Metrics<Name>
  /** Smoothed pressure in [0, 1]; NaN before the first sample. */
  smoothedPressure(): number
}

/** Makes a scheduler from a policy. `createHorizon` of the main entry does the same from a configuration. */
export function createScheduler<const Name extends string>(
  options: SchedulerOptions<Name>,
): Scheduler<Name> {
  const parts = createParts(options)
  const { classes, cells, latest, table, waitingSet, estimates, view, recorder } = parts
  const { ids, handles } = parts
  const outlooks = createOutlooks(parts)
  const lifecycle = createLifecycle(parts, outlooks)
  const { stamp, result, smoothed, decide } = createStep(parts, options, lifecycle)

  const stateOf = (handle: number): number => {
    const slot = table.liveSlot(handle)
    return table.chunks[slot >> CHUNK_BITS]!.state[slot & CHUNK_MASK]!
  }

  const scheduler: Scheduler<Name> = {
    ...parts,
    ...createArrivals(parts),
    ...lifecycle,
    get size() {
      return table.live
    },
    decision: result,
    step(nowMs, pressure, downstreamActive) {
      if (pressure !== undefined && typeof pressure !== 'number') checkRecord('pressure', pressure)
      if (downstreamActive !== undefined)
        expectThat(
          typeof downstreamActive === 'boolean',
          'ERR_CORE_INPUT',
          'impossible value',
          'downstreamActive',
          'true, false or nothing',
          downstreamActive,
        )
      const isReading = typeof pressure === 'object'
      const value = isReading ? pressure.value : pressure
      const stampMs = isReading ? pressure.timestampMs : nowMs
      if (value !== undefined) expectNumber('ERR_CORE_PRESSURE', 'pressure', value, 0, 1)
      checkTime(nowMs, latest)
      expectNumber('ERR_CORE_PRESSURE', 'pressure.timestampMs', stampMs, -Number.MAX_VALUE)
      cells[0] = nowMs
      cells[1] = value ?? NaN
      stamp[0] = stampMs
      return decide(downstreamActive)
    },
    stepNow(downstreamActive) {
      stamp[0] = cells[0]!
      return decide(downstreamActive)
    },
    isVisible: (handle) => view.shows(table.liveSlot(handle)),
    isWaiting: (handle) => stateOf(handle) <= PREEMPTED,
    isScheduled(handle) {
      const state = stateOf(handle)
      return state >= PREFILL && state <= HANDED_OVER
    },
    has: (handle) => table.slotOf(handle) !== -1,
    handleOf: (id) => handles.get(id),
    idOf: (handle) => ids.get(handle),
    setSlowdown(className, factor) {
      const c = classes.indexOf(className)
      expectThat(
        c !== -1 && typeof factor === 'number' && factor >= 1 && factor < Infinity,
        'ERR_CORE_INPUT',
        'impossible slowdown',
        `slowdown.${String(className)}`,
        'a known class and a finite factor of at least 1',
        factor,
      )
      estimates.setSlowdown(c, factor)
    },
    outlook: outlooks.of,
    explain: (handle) => explainRequest(scheduler, table.liveSlot(handle)),
    metrics: () => recorder.snapshot(waitingSet.ever) as Metrics<Name>,
    smoothedPressure: smoothed,
  }
  return scheduler
}
