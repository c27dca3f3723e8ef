/**
 * @module
 * The metrics page in Prometheus' text format, served on a loopback port.
 */
import { createServer, type Server } from 'node:http'
import { HorizonError } from '../core/errors.js'
import { endpointGauges } from '../policies/index.js'
import { engineMetrics, MERGED_HEADER } from './engine-metrics.js'
import type { LinkReport, StageReport } from './link-report.js'
import { BOUNDARY_EDGES_NS } from './metrics-book.js'
import { monotonicNs } from './monotonic-clock.js'

/** The page for a report; `undefined` while no engine is attached. */
export function metricsText(report: LinkReport | undefined, nowNs: bigint): string {
  const out: string[] = []
  const metric = (name: string, type: 'gauge' | 'counter', help: string): void => {
    out.push(`# HELP horizonserve_${name} ${help}`, `# TYPE horizonserve_${name} ${type}`)
  }
  const value = (name: string, number: number, labels = ''): void => {
    if (!Number.isNaN(number)) out.push(`horizonserve_${name}${labels} ${number}`)
  }
  metric('engine_attached', 'gauge', 'Whether an engine is attached.')
  value('engine_attached', report === undefined ? 0 : 1)
  if (report === undefined) return `${out.join('\n')}\n`

  metric('engines', 'gauge', 'Engines of this server.')
  value('engines', report.engines?.length ?? 1)
  metric(
    'engines_unprotected',
    'gauge',
    'Engines that are there and follow nobody: first come first served.',
  )
  value('engines_unprotected', report.unprotected ?? 0)

  const perClass = (
    name: string,
    type: 'gauge' | 'counter',
    help: string,
    of: (c: LinkReport['classes'][number]) => number,
  ): void => {
    metric(name, type, help)
    for (const c of report.classes) value(name, of(c), `{class="${c.name}"}`)
  }
  perClass('first_responses_total', 'counter', 'First responses.', (c) => c.responded)
  perClass(
    'first_responses_met_total',
    'counter',
    'First responses within their SLO.',
    (c) => c.met,
  )
  perClass('attainment', 'gauge', 'Share of first responses within their SLO.', (c) =>
    c.responded === 0 ? Number.NaN : c.met / c.responded,
  )
  perClass(
    'first_response_ms_total',
    'counter',
    'Sum of first-response latencies, ms.',
    (c) => c.latencySumMs,
  )
  perClass('protected', 'gauge', 'Waiting requests whose slack is short.', (c) => c.protected)
  perClass('slowdown', 'gauge', 'Measured over profiled time.', (c) => c.slowdown)
  // What an endpoint picker reads, here and at a twin: docs/fleet.md.
  out.push(
    endpointGauges(
      report.classes.map((c) => c.name),
      report.endpoint.sloMs,
      report.endpoint,
      report.endpoint.isLong,
    ).trimEnd(),
  )

  const single = (name: string, type: 'gauge' | 'counter', help: string, number: number): void => {
    metric(name, type, help)
    value(name, number)
  }
  single('hidden', 'gauge', 'Waiting requests that the last step hid.', report.hidden)
  single('cap_sms', 'gauge', 'SMs the shared stage may use.', report.capSms)
  single('headroom_sms', 'gauge', 'SMs left to later stages.', report.headroomSms)
  single('cap_level', 'gauge', 'Row of the ladder in force.', report.level)
  single('pressure', 'gauge', 'Memory pressure, smoothed, 0 to 1.', report.smoothedPressure)
  if (report.pressureSource !== 'none') {
    const from = `{source="${report.pressureSource}",kind="${report.pressureKind}"}`
    metric('pressure_raw', 'gauge', 'Memory pressure as the GPU said last, 0 to 1.')
    value('pressure_raw', report.pressure, from)
    metric('pressure_age_seconds', 'gauge', 'Since the GPU renewed its pressure.')
    value('pressure_age_seconds', report.pressureAgeMs / 1000, from)
  }
  single(
    'downstream_requests',
    'gauge',
    'Long-path requests in later stages.',
    report.longDownstream,
  )
  single('published_total', 'counter', 'Control states published.', report.published)
  single('answers_total', 'counter', 'Lockstep steps answered.', report.answered)
  single(
    'events_dropped_total',
    'counter',
    'Events that found the ring full.',
    report.droppedEvents,
  )
  single('events_corrupt_total', 'counter', 'Events that could not be read.', report.corruptEvents)
  single(
    'segment_repairs_total',
    'counter',
    "Times that the controller's own part of the segment was found overwritten.",
    report.overwritten,
  )
  single(
    'events_misfit_total',
    'counter',
    'Events that did not fit what was known.',
    report.misfits,
  )
  single('engine_steps_total', 'counter', 'Steps of the shared stage.', report.steps)

  metric('applied_level', 'gauge', 'Ladder row that a stage holds; -1 when none is applied.')
  for (const stage of report.stages) {
    value('applied_level', stage.appliedLevel, stageLabels(stage))
  }
  metric('level_refused', 'gauge', 'Why a stage applies no level: 1 for the reason that holds.')
  for (const stage of report.stages) {
    const reason = stage.levelRefusal
    if (reason !== 'none') value('level_refused', 1, stageLabels(stage, `,reason="${reason}"`))
  }
  metric('heartbeat_age_seconds', 'gauge', 'Age of the last heartbeat of a stage process.')
  for (const stage of report.stages) {
    value(
      'heartbeat_age_seconds',
      Number(nowNs - BigInt(stage.heartbeatNs)) / 1e9,
      stageLabels(stage),
    )
  }
  out.push(
    '# HELP horizonserve_boundary_seconds Time the engine spends at a step boundary.',
    '# TYPE horizonserve_boundary_seconds histogram',
  )
  let cumulative = 0
  for (const [i, edge] of BOUNDARY_EDGES_NS.entries()) {
    cumulative += report.boundary[i] ?? 0
    value('boundary_seconds_bucket', cumulative, `{le="${edge / 1e9}"}`)
  }
  value('boundary_seconds_bucket', report.boundaryCount, '{le="+Inf"}')
  value('boundary_seconds_sum', report.boundarySumNs / 1e9)
  value('boundary_seconds_count', report.boundaryCount)
  return `${out.join('\n')}\n`
}

/** The stages of several engines have the same numbers. */
function stageLabels({ stage, engine }: StageReport, more = ''): string {
  return `{stage="${stage}"${engine === undefined ? '' : `,engine="${engine}"`}${more}}`
}

/**
 * Serves `/metrics` (text) and `/report` (JSON) on 127.0.0.1. Port 0 takes any free one. With `mergeUrl`, the engine's own metrics
 * follow ours on the same page, read anew at each scrape.
 */
export async function serveMetrics(
  port: number,
  report: () => LinkReport | undefined,
  mergeUrl?: URL,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.url === '/report') {
      response.setHeader('content-type', 'application/json')
      response.end(`${JSON.stringify(report() ?? null)}\n`)
    } else if (request.url === '/metrics') {
      // A page that is merged into another, or into itself, merges nothing.
      const merges = mergeUrl !== undefined && request.headers[MERGED_HEADER] === undefined
      const theirs = merges ? await engineMetrics(mergeUrl) : ''
      response.setHeader('content-type', 'text/plain; version=0.0.4')
      response.end(metricsText(report(), monotonicNs()) + theirs)
    } else {
      response.statusCode = 404
      response.end('try /metrics or /report\n')
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HorizonError('ERR_CONTROLLER_PORT', 'the metrics port cannot be used', {
          field: '--metrics-port',
          expected: 'a free port on 127.0.0.1',
          got: `${port}: ${cause.code}`,
          cause,
        }),
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}
