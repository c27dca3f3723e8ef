/**
 * @module
 * Keeps the published state current: builds it from the core's estimates, its last decision and the rules of the policy, and writes
 * it only when something changed. This is one control-state update (`monitorUpdateNs` in the bench).
 */
import type { ControlState } from '../adapters/control-state.js'
import { FLAG } from '../adapters/layout.js'
import type { Segment } from '../adapters/segment.js'
import { LONG, type Scheduler } from '../core/index.js'
import type { PublishedRules } from './published-rules.js'

/** The cap that is asked for, held for the engine's stages to apply; the actuator port of a controller. */
export interface PublishedLevel {
  level: number
  capSms: number
  headroomSms: number
}

/** Writes the control state. */
export interface Publisher {
  /** Publishes when anything that the engine uses changed, or `force`; returns whether it did. */
  update(nowNs: bigint, force?: boolean): boolean
  /** New classes or rules. */
  setRules(rules: PublishedRules | undefined, descriptions: string): void
  readonly epoch: number
}

/**
 * `downstreamActive` says whether a stage after the shared one has work; `observing`, whether the policy is only watched: nothing is hidden,
 * no level set; `longElsewhere`, how much of the long-path cap engines on the same
 * devices use.
 */
export function createPublisher(
  segment: Segment,
  scheduler: () => Scheduler,
  level: PublishedLevel,
  downstreamActive: () => boolean,
  observing: () => boolean = () => false,
  longElsewhere: () => number = () => 0,
): Publisher {
  let rules: PublishedRules | undefined
  let epoch = 0
  let tableEpoch = 0
  let classEpoch = 0
  const last = new Float64Array(16 * 2 + 8)
  const next = new Float64Array(last.length)

  return {
    get epoch() {
      return epoch
    },
    setRules(given, descriptions) {
      rules = given
      // The epoch outlives this process: an engine that has seen another controller's classes must not take ours for them.
      classEpoch = segment.writeClasses(descriptions)
      tableEpoch += 1
      last.fill(Number.NaN)
    },
    update(nowNs, force = false) {
      const core = scheduler()
      const { estimates, signals, classes } = core
      const longDownstream = signals.sumOn(LONG, signals.inDownstream)
      const pressureRaw = signals.times[1]!
      const pressure = core.smoothedPressure()
      let table = false
      for (let c = 0; c < classes.count; c++) {
        next[c * 2] = estimates.slowdown[c]!
        next[c * 2 + 1] = rules?.downstreamWait === true ? estimates.waitMs[c]! : 0
        if (next[c * 2] !== last[c * 2] || next[c * 2 + 1] !== last[c * 2 + 1]) table = true
      }
      const at = classes.count * 2
      next[at] = longDownstream
      next[at + 1] = level.level
      next[at + 2] = Number.isNaN(pressureRaw) ? 0 : pressureRaw
      next[at + 3] = Number.isNaN(pressure) ? 0 : pressure
      next[at + 4] = downstreamActive() ? 1 : 0
      next[at + 5] = rules === undefined || observing() ? 1 : 0
      next[at + 6] = longElsewhere()
      let changed = force || table
      for (let i = at; i < at + 7; i++) if (next[i] !== last[i]) changed = true
      if (!changed) return false
      last.set(next)
      epoch += 1
      if (table) tableEpoch += 1
      segment.publish(build(nowNs, at, pressureRaw, pressure))
      return true
    },
  }

  function build(nowNs: bigint, at: number, pressureRaw: number, pressure: number): ControlState {
    const { classes } = scheduler()
    const isObserving = next[at + 5] === 1
    const isWatchedAlone = isObserving && rules !== undefined
    return {
      publishedNs: nowNs,
      epoch,
      tableEpoch,
      classEpoch,
      flags:
        (rules?.flags ?? 0) |
        (isObserving ? FLAG.observe : 0) |
        (next[at + 4] === 1 ? FLAG.downstreamActive : 0),
      n: 0,
      nMin: rules?.nMin ?? 0,
      nMax: rules?.nMax ?? 0,
      m: rules?.m ?? 1,
      longCap: Math.max(0, (rules?.longCap ?? 0) - next[at + 6]!),
      level: isWatchedAlone ? -1 : level.level,
      levelSms: isWatchedAlone ? 0 : level.capSms,
      headroomSms: isWatchedAlone ? 0 : level.headroomSms,
      longDownstream: next[at]!,
      pressureRaw,
      pressure,
      shareFloor: rules?.shareFloor ?? 0,
      classes: classes.names.map((_, c) => ({
        sloMs: classes.sloMs[c]!,
        slowdown: next[c * 2]!,
        waitMs: next[c * 2 + 1]!,
        uGuard: rules?.uGuard ?? 0,
        uLost: rules?.uLost ?? 0,
        path: classes.path[c]!,
        priority: classes.priority[c]!,
      })),
    }
  }
}
