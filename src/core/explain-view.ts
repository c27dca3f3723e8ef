/**
 * @module
 * The view of the last step in words, by class and status: how many wait, how many of them are shown, and why the others are not. Apart
 * from `explain.ts`, so that a program that never asks does not load it.
 */
import { reason } from './explain.js'
import { HIDDEN, LIMITED, SHOWN } from './groups.js'
import type { Scheduler } from './scheduler.js'

const STATUSES = ['ordinary', 'protected', 'lost'] as const

/** One class and status with waiting requests. */
export interface ViewLine {
  readonly className: string
  readonly status: (typeof STATUSES)[number]
  readonly waiting: number
  /** `some`: a limit holds for all classes of the path together, or one request is shown whatever is said of the others. */
  readonly shown: 'all' | 'some' | 'none'
  /** Why not all are shown; empty when they are. */
  readonly why: string
}

/** As of the last step; classes without waiting requests are left out. */
export function explainView(scheduler: Scheduler): ViewLine[] {
  const { classes, signals, groups } = scheduler
  const lines: ViewLine[] = []
  for (const [c, className] of classes.names.entries()) {
    for (const [status, statusName] of STATUSES.entries()) {
      const waiting = signals.waiting[c * 3 + status]!
      if (waiting === 0) continue
      const said = groups.verdict[c * 3 + status]!
      const isRescue = said === HIDDEN && groups.rescues
      const limit = groups.limits[classes.path[c]! * 3 + status]!
      const shown =
        (said === LIMITED && limit !== 0) || isRescue
          ? ('some' as const)
          : said !== SHOWN
            ? ('none' as const)
            : ('all' as const)
      const why =
        shown === 'all'
          ? ''
          : isRescue
            ? 'hidden, but for the lost request with the earliest deadline'
            : reason(scheduler, c, status)
      lines.push({ className, status: statusName, waiting, shown, why })
    }
  }
  return lines
}
