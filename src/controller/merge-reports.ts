/**
 * @module
 * One report for the engines of a server: counts are added up, what only one engine can have (its phase, its level) is the first one's.
 */
import type { ClassReport, EndpointReport, LinkReport } from './link-report.js'

/** One engine's part; without a report nobody steers it now. */
export interface EngineReport {
  readonly segment: string
  readonly report: LinkReport | undefined
}

const SUMMED = [
  'hidden',
  'waiting',
  'longDownstream',
  'published',
  'answered',
  'corruptEvents',
  'overwritten',
  'droppedEvents',
  'misfits',
  'strangers',
  'forgotten',
  'steps',
  'boundarySumNs',
  'boundaryCount',
] as const satisfies readonly (keyof LinkReport)[]

const SUMMED_OF_CLASS = [
  'waiting',
  'protected',
  'lost',
  'inShared',
  'responded',
  'met',
  'latencySumMs',
  'observedResponded',
  'observedMet',
] as const satisfies readonly (keyof ClassReport)[]

/** `undefined` while no engine is attached. Engines that are there and not steered are counted as unprotected. */
export function mergeReports(parts: readonly EngineReport[]): LinkReport | undefined {
  const reports = parts.flatMap(({ report }) => (report === undefined ? [] : [report]))
  const [first] = reports
  if (first === undefined) return undefined
  const engines = parts.map(({ segment, report }) => ({
    segment,
    isSteered: report !== undefined,
    steps: report?.steps ?? 0,
    waiting: report?.waiting ?? 0,
  }))
  const unprotected = parts.length - reports.length
  if (reports.length === 1) return { ...first, engines, unprotected }
  const sum = <K extends string>(records: readonly Record<K, number>[], name: K): number =>
    records.reduce((total, record) => total + record[name], 0)
  return {
    ...first,
    ...Object.fromEntries(SUMMED.map((name) => [name, sum(reports, name)])),
    classes: first.classes.map((c, at) => {
      const same = reports.flatMap((report) => report.classes[at] ?? [])
      return { ...c, ...Object.fromEntries(SUMMED_OF_CLASS.map((name) => [name, sum(same, name)])) }
    }),
    requests: {
      arrived: sum(
        reports.map((r) => r.requests),
        'arrived',
      ),
      finished: sum(
        reports.map((r) => r.requests),
        'finished',
      ),
      aborted: sum(
        reports.map((r) => r.requests),
        'aborted',
      ),
      live: sum(
        reports.map((r) => r.requests),
        'live',
      ),
    },
    endpoint: mergeEndpoints(reports.map(({ endpoint }) => endpoint)),
    stages: parts.flatMap(({ segment, report }) =>
      (report?.stages ?? []).map((stage) => ({ ...stage, engine: segment })),
    ),
    boundary: first.boundary.map((_, at) => reports.reduce((n, r) => n + (r.boundary[at] ?? 0), 0)),
    engines,
    unprotected,
  }
}

/** Any of the engines may get the next request, so the slowest one's answer is promised; what they serve adds up. */
function mergeEndpoints(parts: readonly EndpointReport[]): EndpointReport {
  const [first] = parts as [EndpointReport]
  const column = (
    name: 'expectedMs' | 'waiting' | 'lost' | 'inShared' | 'inFlight',
    join: (values: readonly number[]) => number,
  ): number[] => first[name].map((_, c) => join(parts.map((part) => part[name][c] ?? 0)))
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
  const slots = sum(parts.map((part) => part.slots))
  const perMs = sum(parts.map(({ slots, holdMs }) => (holdMs > 0 ? slots / holdMs : 0)))
  const longPerMs = sum(parts.map(({ longStepMs }) => (longStepMs > 0 ? 1 / longStepMs : 0)))
  return {
    ...first,
    expectedMs: column('expectedMs', (values) => Math.max(...values)),
    waiting: column('waiting', sum),
    lost: column('lost', sum),
    inShared: column('inShared', sum),
    inFlight: column('inFlight', sum),
    slots,
    holdMs: perMs > 0 ? slots / perMs : 0,
    longStepMs: longPerMs > 0 ? 1 / longPerMs : 0,
  }
}
