/**
 * @module
 * What a request would meet if it arrived now, before it does: for admission control, and for the answer that a refused one gets. The
 * wait for a slot is the number of requests of its path that wait and are not lost, times the mean time between two admissions on that
 * path while some waited. It is an estimate, not a promise; verdicts of a step never use it.
 */
import { bucketCell, bucketInCell, bucketMs } from './bucket.js'
import { checkClass, checkInput, checkRecord } from './call-checks.js'
import { doubles } from './columns.js'
import { ABOVE_0, expectNumber } from './errors.js'
import { INPUT, WORK } from './ports.js'
import { type Chunk, ORDINARY, PROTECTED } from './request-table.js'
import type { ArrivingRequest } from './scheduler-options.js'
import type { SchedulerParts } from './scheduler-parts.js'

/** What a request would bring; see `ArrivingRequest`. */
export type RequestInputs = Omit<ArrivingRequest, 'class' | 'id'>

export interface Outlook {
  /** When it would have its first response at the earliest, as far as is known: ms on the scheduler's clock. */
  readonly earliestMs: number
  readonly deadlineMs: number
  /** How the next step would count it if nothing else changed. Under a policy that sheds, `lost` means refused. */
  readonly status: 'ordinary' | 'protected' | 'lost'
  /** Whether `earliestMs` is by the deadline. */
  readonly inTime: boolean
}

export interface Outlooks {
  of(className: string, inputs?: RequestInputs): Outlook
  /** First response at the earliest of a request of a class and solo work that arrives now, ms. */
  earliestMs(classIndex: number, workMs: number): number
  /** The request in row `i` was admitted for the first time, at `cells[0]`. @hot */
  admitted(chunk: Chunk, i: number): void
}

/** Weight of a new gap between admissions. */
const GAIN = 0.1

export function createOutlooks(parts: SchedulerParts): Outlooks {
  const { classes, profiler, cells, latest, estimates, signals } = parts
  const { uGuard, uLost, downstreamWait } = parts.policy.urgency
  /** Mean time between admissions, and the last one, per path. */
  const gapMs = doubles(2)
  const lastMs = doubles(2)
  const inputs = doubles(4)
  const work = doubles(3)

  const earliestMs = (c: number, workMs: number): number => {
    const path = classes.path[c]!
    const ahead = signals.waitingOn(path, ORDINARY) + signals.waitingOn(path, PROTECTED)
    const estimateMs = estimates.slowdown[c]! * workMs + estimates.waitMs[c]!
    return Math.max(0, latest[0]!) + ahead * gapMs[path]! + estimateMs
  }

  return {
    earliestMs,
    admitted(chunk, i) {
      const path = classes.path[chunk.classIndex[i]!]!
      const now = cells[0]!
      // From when on it could have been admitted after the last one.
      const gap = now - Math.max(lastMs[path]!, chunk.arrivalMs[i]!)
      gapMs[path]! += GAIN * (gap - gapMs[path]!)
      lastMs[path] = now
    },
    of(className, given = {}) {
      checkRecord('inputs', given)
      const c = checkClass(classes, className)
      const { sloMs = classes.sloMs[c]! } = given
      expectNumber('ERR_CORE_INPUT', 'sloMs', sloMs, ABOVE_0)
      inputs[INPUT.promptTokens] = checkInput('promptTokens', given.promptTokens, 0x7fffffff)
      inputs[INPUT.audioSeconds] = checkInput('audioSeconds', given.audioSeconds)
      inputs[INPUT.images] = checkInput('images', given.images)
      inputs[INPUT.videos] = checkInput('videos', given.videos)
      profiler.annotate(c, inputs, work)
      bucketCell[0] = work[WORK.shared]! + work[WORK.downstream]!
      const workMs = bucketMs[bucketInCell()]!
      const now = Math.max(0, latest[0]!)
      const r = estimates.slowdown[c]! * workMs + (downstreamWait ? estimates.waitMs[c]! : 0)
      const isLost = uLost > 0 && sloMs < uLost * r
      const atMs = earliestMs(c, workMs)
      return {
        earliestMs: atMs,
        deadlineMs: now + sloMs,
        status: isLost ? 'lost' : uGuard > 0 && sloMs < uGuard * r ? 'protected' : 'ordinary',
        inTime: atMs <= now + sloMs,
      }
    },
  }
}
