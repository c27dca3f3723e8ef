/**
 * @module
 * What a dashboard shows of a scheduler at one moment, as plain data: it goes through JSON and between threads.
 */
import { explainView, LONG, type Scheduler, TIME, type ViewLine } from '../core/index.js'
import { NO_LADDER } from '../core/ladder.js'
import { CHUNK_BITS, CHUNK_MASK } from '../core/request-table.js'
import { type RecentResponses, watchRecent } from './recent-responses.js'

export interface ClassPicture {
  readonly name: string
  readonly path: 'short' | 'long'
  readonly sloMs: number
  readonly waiting: number
  readonly protected: number
  readonly lost: number
  readonly inShared: number
  readonly inDownstream: number
  /** Since the scheduler was made. */
  readonly arrived: number
  readonly responded: number
  readonly met: number
  readonly cancelled: number
  readonly p95Ms: number
  readonly longestResponseMs: number
  /** The last minute. */
  readonly recent: RecentResponses
  /** How long the oldest request has waited that waits now; 0 when none does. */
  readonly oldestWaitMs: number
}

export interface Picture {
  readonly policy: string
  readonly step: number
  readonly phase: 'short' | 'long' | 'none'
  readonly passed: boolean
  readonly n: number
  readonly level: number
  /** SM counts of the ladder; empty where there is none. */
  readonly levels: readonly number[]
  readonly totalSms: number
  readonly capSms: number
  readonly headroomSms: number
  readonly waiting: number
  readonly hidden: number
  readonly pressure: number
  readonly smoothedPressure: number
  readonly shortInShared: number
  readonly longInShared: number
  readonly downstream: number
  readonly view: readonly ViewLine[]
  readonly classes: readonly ClassPicture[]
}

/** `nowMs` is on the scheduler's clock. */
export function createPictureTaker(scheduler: Scheduler): (nowMs: number) => Picture {
  const { classes, signals, ladder, policy } = scheduler
  const recent = watchRecent(scheduler)
  return (nowMs) => {
    const { decision } = scheduler
    const metrics = scheduler.metrics()
    const { waiting, inShared, inDownstream } = signals
    const ofClass = (name: string, c: number): ClassPicture => {
      const { arrived, responded, met, cancelled, firstResponseMs } = metrics.classes[name]!
      return {
        name,
        path: classes.path[c] === LONG ? 'long' : 'short',
        sloMs: classes.sloMs[c]!,
        waiting: waiting[c * 3]! + waiting[c * 3 + 1]! + waiting[c * 3 + 2]!,
        protected: waiting[c * 3 + 1]!,
        lost: waiting[c * 3 + 2]!,
        inShared: inShared[c]!,
        inDownstream: inDownstream[c]!,
        arrived,
        responded,
        met,
        cancelled,
        p95Ms: firstResponseMs.p95,
        longestResponseMs: firstResponseMs.max,
        recent: recent.of(c, nowMs),
        oldestWaitMs: oldestWait(scheduler, c, nowMs),
      }
    }
    return {
      policy: policy.name,
      step: decision.step,
      phase: decision.phase,
      passed: decision.passed,
      n: decision.n,
      level: decision.level,
      levels: ladder === NO_LADDER ? [] : [...ladder.sms],
      totalSms: ladder.totalSms,
      capSms: decision.capSms,
      headroomSms: decision.headroomSms,
      waiting: decision.waiting,
      hidden: decision.hidden,
      pressure: signals.times[TIME.pressure]!,
      smoothedPressure: scheduler.smoothedPressure(),
      shortInShared: signals.sumOn(0, inShared),
      longInShared: signals.sumOn(LONG, inShared),
      downstream: signals.sumOn(LONG, inDownstream),
      view: explainView(scheduler),
      classes: classes.names.map(ofClass),
    }
  }
}

/** Lists are in order of arrival, so the head of each is its oldest. */
function oldestWait({ waitingSet, table }: Scheduler, c: number, nowMs: number): number {
  let oldestMs = 0
  for (const { head } of waitingSet.lists.ofClass[c]!) {
    if (head === -1) continue
    const waitMs = nowMs - table.chunks[head >> CHUNK_BITS]!.arrivalMs[head & CHUNK_MASK]!
    if (waitMs > oldestMs) oldestMs = waitMs
  }
  return oldestMs
}
