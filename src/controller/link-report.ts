/**
 * @module
 * The state of a controlled engine at one moment, as plain numbers: what the metrics page, `watch` and the log are made from.
 */
import { LONG } from '../core/index.js'
import { NO_LADDER } from '../core/ladder.js'
import { TIME } from '../core/signals.js'
import type { Picture } from '../dashboard/picture.js'
import { type EndpointReading, emptySample } from '../policies/index.js'
import type { EngineLink } from './engine-link.js'
import type { MetricsBook } from './metrics-book.js'
import { monotonicNs } from './monotonic-clock.js'

export type { MetricsBook } from './metrics-book.js'

export interface ClassReport {
  readonly name: string
  readonly waiting: number
  readonly protected: number
  readonly lost: number
  readonly inShared: number
  readonly responded: number
  readonly met: number
  readonly latencySumMs: number
  /** Of `responded` and `met`, those that arrived while the policy was only watched. */
  readonly observedResponded: number
  readonly observedMet: number
  readonly slowdown: number
}

/** What a request that arrived now would meet, for the metrics contract; plain lists in the order of the classes. */
export interface EndpointReport extends EndpointReading {
  readonly sloMs: readonly number[]
  /** 1 for a class on the long path. */
  readonly isLong: readonly number[]
  readonly expectedMs: readonly number[]
  readonly waiting: readonly number[]
  readonly lost: readonly number[]
  readonly inShared: readonly number[]
  readonly inFlight: readonly number[]
}

export interface StageReport {
  /** Segment of its engine, where a report is of several. */
  readonly engine?: string
  readonly stage: number
  readonly pid: number
  readonly heartbeatNs: string
  readonly running: number
  readonly waiting: number
  readonly dropped: number
  readonly appliedLevel: number
  readonly levelRefusal: string
}

export interface LinkReport {
  readonly classes: readonly ClassReport[]
  readonly endpoint: EndpointReport
  readonly stages: readonly StageReport[]
  /** Since this controller attached. `live` are those in the shared stage and after it. */
  readonly requests: {
    readonly arrived: number
    readonly finished: number
    readonly aborted: number
    readonly live: number
  }
  readonly step: number
  readonly phase: string
  readonly n: number
  readonly hidden: number
  /** The policy is only watched: `hidden` would be hidden, and nothing is. */
  readonly observing: boolean
  readonly waiting: number
  readonly level: number
  readonly capSms: number
  readonly headroomSms: number
  readonly longDownstream: number
  readonly pressure: number
  readonly smoothedPressure: number
  /** Where pressure comes from now; `none` without a reading. */
  readonly pressureSource: string
  readonly pressureKind: string
  /** Since the GPU renewed the reading, ms. */
  readonly pressureAgeMs: number
  readonly published: number
  readonly answered: number
  readonly corruptEvents: number
  /** Times that something of the controller's own was overwritten in the segment, and put right. */
  readonly overwritten: number
  readonly droppedEvents: number
  readonly misfits: number
  /** Answers and ends in later stages of requests that nobody here sent there; after a restart, of those from before. */
  readonly strangers: number
  /** Ended without anybody saying so: a resync did not name them, or no later stage did for too long. */
  readonly forgotten: number
  readonly steps: number
  readonly boundary: readonly number[]
  readonly boundarySumNs: number
  readonly boundaryCount: number
  /** For the dashboard, where one is asked for. */
  readonly picture?: Picture
  /** The engines of the server one by one, where one controller looks after several. */
  readonly engines?: readonly EngineSummary[]
  /** Of these, the ones that are there and follow nobody: first come first served. */
  readonly unprotected?: number
}

/** One engine of several. */
export interface EngineSummary {
  readonly segment: string
  readonly isSteered: boolean
  readonly steps: number
  readonly waiting: number
}

/** Takes the numbers; with `takePicture`, what a dashboard shows too. */
export function linkReport(
  link: EngineLink,
  book: MetricsBook,
  takePicture?: (nowMs: number) => Picture,
): LinkReport {
  const { scheduler, counts, mirror } = link
  const { decision, signals, classes, estimates } = scheduler
  const { waiting } = signals
  return {
    classes: classes.names.map((name, c) => ({
      name,
      waiting: waiting[c * 3]! + waiting[c * 3 + 1]! + waiting[c * 3 + 2]!,
      protected: waiting[c * 3 + 1]!,
      lost: waiting[c * 3 + 2]!,
      inShared: signals.inShared[c]!,
      responded: book.classes[c]?.responded ?? 0,
      met: book.classes[c]?.met ?? 0,
      latencySumMs: book.classes[c]?.latencySumMs ?? 0,
      observedResponded: book.classes[c]?.observedResponded ?? 0,
      observedMet: book.classes[c]?.observedMet ?? 0,
      slowdown: estimates.slowdown[c]!,
    })),
    endpoint: endpointReport(link),
    stages: link
      .stages()
      .map((line, stage) => ({ ...line, stage, heartbeatNs: String(line.heartbeatNs) }))
      .filter((line) => line.claimed),
    requests: {
      arrived: mirror.counts.arrived,
      finished: mirror.counts.finished,
      aborted: mirror.counts.aborted,
      live: mirror.size,
    },
    step: decision.step,
    phase: decision.phase,
    n: decision.n,
    hidden: decision.hidden,
    observing: link.isObserving,
    waiting: decision.waiting,
    // A row of no ladder is no level.
    level: scheduler.ladder === NO_LADDER ? -1 : decision.level,
    capSms: scheduler.ladder === NO_LADDER ? 0 : decision.capSms,
    headroomSms: scheduler.ladder === NO_LADDER ? 0 : decision.headroomSms,
    longDownstream: signals.sumOn(LONG, signals.inDownstream),
    pressure: signals.times[TIME.pressure]!,
    smoothedPressure: scheduler.smoothedPressure(),
    pressureSource: link.pressure?.source ?? 'none',
    pressureKind: link.pressure?.kind ?? 'none',
    pressureAgeMs: Number(monotonicNs()) / 1e6 - signals.times[TIME.pressureTimestamp]!,
    published: counts.published,
    answered: counts.answered,
    corruptEvents: counts.corruptEvents + counts.garbled,
    overwritten: counts.overwritten,
    droppedEvents: counts.droppedEvents,
    misfits: mirror.counts.misfits,
    strangers: counts.strangers,
    forgotten: mirror.counts.forgotten,
    steps: mirror.counts.steps,
    boundary: [...book.boundary],
    boundarySumNs: book.boundarySumNs,
    boundaryCount: book.boundaryCount,
    ...(takePicture && { picture: takePicture(Number(monotonicNs()) / 1e6) }),
  }
}

function endpointReport({ scheduler, outlook }: EngineLink): EndpointReport {
  const { count, path, sloMs } = scheduler.classes
  const sample = emptySample(count)
  outlook.read(sample)
  const { slots, holdMs, longStepMs } = sample
  return {
    sloMs: [...sloMs],
    isLong: Array.from({ length: count }, (_, c) => (path[c] === LONG ? 1 : 0)),
    expectedMs: [...sample.expectedMs],
    waiting: [...sample.waiting],
    lost: [...sample.lost],
    inShared: [...sample.inShared],
    inFlight: [...sample.inFlight],
    slots,
    holdMs,
    longStepMs,
  }
}
