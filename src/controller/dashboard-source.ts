/**
 * @module
 * A controller as a dashboard sees it: its engine, the health of the link to it, the configuration in force.
 */
import type { HorizonConfig } from '../config.js'
import { diffConfiguration } from '../dashboard/configuration-diff.js'
import type {
  DashboardSource,
  HealthLine,
  ShownConfiguration,
} from '../dashboard/serve-dashboard.js'
import type { LinkReport } from './link-report.js'
import { monotonicNs } from './monotonic-clock.js'

/** A heartbeat older than this is told of. */
const SILENT_S = 2
const OLD_PRESSURE_MS = 3000

export interface ControllerDashboard extends DashboardSource {
  /** A reload was taken up. */
  reloaded(config: HorizonConfig): void
  /** A reload was refused, and why. */
  refused(why: string): void
}

export function dashboardSource(
  title: string,
  report: () => LinkReport | undefined,
  mode: () => string,
  config: HorizonConfig,
): ControllerDashboard {
  let inForce: unknown = config
  let refusal = ''
  let shown: ShownConfiguration = { text: textOf(config), reloadedAt: '', changed: [] }
  return {
    title,
    picture: () => report()?.picture,
    health: () => health(report(), mode(), refusal),
    configuration: () => shown,
    reloaded(next) {
      refusal = ''
      const changed = diffConfiguration(inForce, next)
      inForce = next
      shown = { text: textOf(next), reloadedAt: new Date().toISOString(), changed }
    },
    refused(why) {
      refusal = why
    },
  }
}

const textOf = (config: unknown): string => JSON.stringify(config, null, 2)

function health(report: LinkReport | undefined, mode: string, refusal: string): HealthLine[] {
  const lines: HealthLine[] = []
  const add = (name: string, isGood: boolean, text: string): void => {
    lines.push({ name, state: isGood ? 'good' : 'warn', text })
  }
  if (report === undefined) {
    lines.push({ name: 'engine', state: 'bad', text: 'none attached; waiting for one' })
  } else {
    const mean = report.boundaryCount === 0 ? 0 : report.boundarySumNs / report.boundaryCount
    add(
      'engine',
      true,
      `attached, ${mode}, ${report.steps} steps, ${(mean / 1000).toFixed(1)} µs at a step boundary on average`,
    )
    for (const { stage, pid, heartbeatNs, dropped } of report.stages) {
      const ageS = Number(monotonicNs() - BigInt(heartbeatNs)) / 1e9
      add(
        `stage ${stage}`,
        ageS < SILENT_S && dropped === 0,
        `process ${pid}, ${ageS < SILENT_S ? 'alive' : `silent for ${ageS.toFixed(0)} s`}${dropped > 0 ? `, ${dropped} events found no room` : ''}`,
      )
    }
    const { corruptEvents, misfits, overwritten } = report
    add(
      'events',
      corruptEvents + overwritten === 0,
      `${corruptEvents} unreadable, ${misfits} that did not fit, ${overwritten} times that the segment was put right`,
    )
    if (report.pressureSource === 'none') add('pressure', true, 'not measured')
    else {
      const ageMs = report.pressureAgeMs
      add(
        'pressure',
        ageMs < OLD_PRESSURE_MS,
        `${report.pressureKind} by ${report.pressureSource}, ${Number.isNaN(ageMs) ? 'no reading yet' : `${ageMs.toFixed(0)} ms old`}`,
      )
    }
  }
  if (refusal !== '') {
    add('configuration', false, `a change is refused, the one before stays: ${refusal}`)
  }
  return lines
}
