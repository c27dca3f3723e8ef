/**
 * @module
 * One step, in order: estimates and urgency brought up to the clock, signals, filters, cap, view, counts, events.
 */
import { partFailed } from './call-checks.js'
import { doubles } from './columns.js'
import type { Decision, MutableDecision } from './decision.js'
import { expectInteger, isHorizonError } from './errors.js'
import type { Lifecycle } from './lifecycle.js'
import type { PressureSample, PressureSource } from './ports.js'
import { LONG, SHORT } from './request-class.js'
import { LOST } from './request-table.js'
import type { SchedulerOptions } from './scheduler-options.js'
import { nameOf, type SchedulerParts } from './scheduler-parts.js'
import { TIME } from './signals.js'
import { createStepCounter } from './step-counts.js'

const PHASES = ['short', 'long'] as const

export interface Step {
  /** Timestamp of the pressure in `cells[1]`. A cell, for a double that crosses a call would be boxed. */
  readonly stamp: Float64Array
  readonly result: MutableDecision
  /** Smoothed pressure in [0, 1]; NaN before the first sample. */
  smoothed(): number
  /** `cells[0]` is now, `cells[1]` a pressure sample or NaN. @hot */
  decide(downstreamActive: boolean | undefined): Decision
}

export function createStep(
  parts: SchedulerParts,
  { actuator, pressureSource }: Pick<SchedulerOptions, 'actuator' | 'pressureSource'>,
  { shed }: Pick<Lifecycle, 'shed'>,
): Step {
  const { classes, ladder, policy, cells, latest, table, waitingSet, signals, groups } = parts
  const { estimates, view, recorder, announcer } = parts
  const { hears, announce } = announcer
  const { workConserving } = policy
  const { times, inDownstream, handedOver } = signals
  const filters = policy.filters()
  const cap = policy.cap()
  const stamp = doubles(1)
  /** Timestamp of the newest sample. */
  const newest = Float64Array.of(-Infinity)
  const sample: PressureSample = {
    value: NaN,
    kind: 'none',
    timestampMs: -Infinity,
    source: 'none',
  }
  /** Handles and statuses that changed in this step, for whoever listens. */
  const changes: number[] = []
  const onStatus = (slot: number, status: number): void => {
    changes.push(table.handleOf(slot), status)
  }
  let numSteps = 0
  const result: MutableDecision = {
    step: -1,
    phase: 'none',
    passed: false,
    n: 0,
    view,
    level: -1,
    capSms: 0,
    headroomSms: 0,
    changed: false,
    waiting: 0,
    hidden: 0,
    protected: 0,
    lost: 0,
  }
  const count = createStepCounter(signals, groups, view, recorder)

  const renewPressure = (): void => {
    let value = cells[1]!
    let stampMs = stamp[0]!
    // biome-ignore lint/suspicious/noSelfCompare: NaN means that the caller gave no sample
    if (value !== value && pressureSource !== undefined) {
      if (isSampled(pressureSource, sample)) {
        value = sample.value
        stampMs = sample.timestampMs
      } else times[TIME.pressure] = Number.NaN
    }
    signals.pressureIsNew = value >= 0 && value <= 1 && stampMs > newest[0]! && stampMs < Infinity
    if (!signals.pressureIsNew) return
    newest[0] = stampMs
    times[TIME.pressure] = value
    times[TIME.pressureTimestamp] = stampMs
  }

  /** Puts a row into force, unless the actuator fails: then the row before holds, and nothing is reported as applied. */
  const apply = (level: number): boolean => {
    try {
      actuator?.apply(level)
    } catch (cause) {
      announcer.tell('actuatorError', partFailed('ERR_CORE_ACTUATOR', actuator!.name, cause))
      return false
    }
    if (result.level !== -1) recorder.capChanges += 1
    result.level = level
    result.capSms = ladder.sms[level]!
    result.headroomSms = Math.max(0, ladder.totalSms - result.capSms)
    return true
  }

  /** The row in force as the actuator says, or as it was asked for where it says nothing that can be one. */
  const readBack = (): number => {
    if (actuator === undefined) return result.level
    try {
      const level = actuator.readBack()
      expectInteger('ERR_CORE_ACTUATOR', 'readBack', level, -1, ladder.aggressive)
      return level
    } catch (cause) {
      announcer.tell('actuatorError', partFailed('ERR_CORE_ACTUATOR', actuator.name, cause))
      return result.level
    }
  }

  /** Asks the filters and the cap controller. What they answer is checked before any of it holds. */
  const ask = (): number => {
    let asked: { readonly name: string } = cap
    try {
      groups.reset()
      for (let f = 0; f < filters.length; f++) {
        asked = filters[f]!
        filters[f]!.filter(signals, groups)
        if (!(groups.phase >= -1 && groups.phase <= LONG && groups.n >= 0))
          throw new TypeError(`impossible phase ${groups.phase} or n ${groups.n}`)
      }
      asked = cap
      const level = cap.cap(signals, ladder)
      if (!((level | 0) === level && level >= 0 && level <= ladder.aggressive))
        expectInteger('ERR_CORE_CAP', 'the row it chose', level, 0, ladder.aggressive)
      return level
    } catch (cause) {
      if (policy.sheds === true) announcer.release()
      // A part of ours that refuses its options has said so better.
      if (isHorizonError(cause) && !cause.code.startsWith('ERR_CORE_')) throw cause
      const code = asked === cap ? 'ERR_CORE_CAP' : 'ERR_CORE_FILTER'
      throw partFailed(code, `policy ${policy.name}, ${asked.name}`, cause)
    }
  }

  /** Refuses all that are lost. */
  const shedLost = (): void => {
    announcer.hold()
    for (let path = SHORT; path <= LONG; path++) {
      const lost = waitingSet.heaps.of(path, LOST)
      while (lost.size > 0) shed(table.handleOf(lost.entries[0]!.slot))
    }
  }

  const announceStep = (): void => {
    for (let k = 0; k < changes.length; k += 2) {
      const handle = changes[k]!
      announce(changes[k + 1] === LOST ? 'lost' : 'protected', handle, nameOf(parts, handle))
    }
    if (changes.length > 0) changes.length = 0
    if (policy.sheds === true) announcer.release()
    if (result.changed && hears('cap')) announce('cap', result.level, result.capSms)
    if (hears('decision')) announce('decision', result)
  }

  return {
    stamp,
    result,
    smoothed: () => cap.smoothed(),
    decide(downstreamActive) {
      const now = cells[0]!
      if (now > latest[0]!) latest[0] = now
      waitingSet.onStatus = hears('protected') || hears('lost') ? onStatus : undefined
      if (estimates.isStale) {
        estimates.isStale = false
        for (let c = 0; c < classes.count; c++) waitingSet.reestimate(c)
      }
      waitingSet.refresh()
      if (policy.sheds === true) shedLost()
      signals.step = numSteps
      times[TIME.now] = now
      renewPressure()
      signals.downstreamActive =
        downstreamActive ?? signals.sumOn(LONG, inDownstream) + signals.sumOn(LONG, handedOver) > 0
      signals.appliedLevel = readBack()
      const level = ask()
      groups.resolve(signals, workConserving)
      result.changed = level !== result.level && apply(level)
      result.step = numSteps
      result.phase = groups.phase === -1 ? 'none' : PHASES[groups.phase]!
      result.passed = groups.passed
      result.n = groups.n
      view.begin(numSteps)
      count(result)
      numSteps = (numSteps + 1) & 0x7fffffff
      announceStep()
      return result
    },
  }
}

/** Whether a source has a reading; one that throws or is no number has none. */
function isSampled(source: PressureSource, sample: PressureSample): boolean {
  try {
    return (
      source.sample(sample) === true &&
      typeof sample.value === 'number' &&
      typeof sample.timestampMs === 'number'
    )
  } catch {
    return false
  }
}
