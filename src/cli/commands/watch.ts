/**
 * @module
 * `horizonserve watch`: a running controller in the terminal, from its metrics port.
 */

import type { LinkReport } from '../../controller/link-report.js'
import { HorizonError } from '../../core/errors.js'
import { type CliCommand, EXIT } from '../command.js'

export const command: CliCommand = {
  name: 'watch',
  summary: 'Show a running controller live in the terminal',
  configure(command) {
    command
      .requiredOption('--metrics-port <port>', 'the port that `run` told')
      .option('--every <ms>', 'how often to look', '500')
      .option('--once', 'print one picture and stop', false)
  },
  async run(_args, options, io) {
    const url = `http://127.0.0.1:${Number(options.metricsPort)}/report`
    const everyMs = Math.max(50, Number(options.every) || 500)
    let stopped = false
    const stop = (): void => {
      stopped = true
    }
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
    let before: LinkReport | undefined
    while (!stopped) {
      const report = await fetchReport(url)
      const picture = draw(report, before, everyMs)
      io.out(options.once === true ? picture : `\u001b[H\u001b[J${picture}`)
      if (options.once === true) break
      before = report
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    process.off('SIGINT', stop)
    process.off('SIGTERM', stop)
    return EXIT.ok
  },
}

async function fetchReport(url: string): Promise<LinkReport | undefined> {
  try {
    const answer = await fetch(url)
    return ((await answer.json()) as LinkReport | null) ?? undefined
  } catch (cause) {
    throw new HorizonError('ERR_CLI_CONTROLLER_UNAVAILABLE', 'no controller answers', {
      expected: url,
      hint: 'Start `horizonserve run` with --metrics-port',
      cause,
    })
  }
}

/** One picture, plain text. */
export function draw(
  report: LinkReport | undefined,
  before: LinkReport | undefined,
  everyMs: number,
): string {
  if (report === undefined) return 'waiting for an engine\n'
  const stepsPerS =
    before === undefined ? '-' : (((report.steps - before.steps) * 1000) / everyMs).toFixed(0)
  // Both attainments side by side once there is something of both.
  const isSplit = report.classes.some((c) => c.observedResponded > 0)
  const lines = [
    `step ${report.steps}  ${stepsPerS} steps/s  phase ${report.phase}  N ${report.n}  waiting ${report.waiting}  ${report.observing ? 'only watching, would hide' : 'hidden'} ${report.hidden}`,
    `${report.level < 0 ? 'no ladder' : `cap ${report.capSms} SMs (level ${report.level})  headroom ${report.headroomSms}`}  downstream ${report.longDownstream}`,
    pressureLine(report),
    ...enginesLines(report),
    '',
    `${'class'.padEnd(16)}${['waiting', 'protected', 'lost', 'running', 'answered', 'in SLO', 'mean ms', 'slowdown', ...(isSplit ? ['policy', 'watched'] : [])].map((t) => t.padStart(10)).join('')}`,
    ...report.classes.map((c) => {
      const share = percent(c.met, c.responded)
      const mean = c.responded === 0 ? '-' : (c.latencySumMs / c.responded).toFixed(0)
      const cells = [
        c.waiting,
        c.protected,
        c.lost,
        c.inShared,
        c.responded,
        share,
        mean,
        c.slowdown.toFixed(2),
        ...(isSplit
          ? [
              percent(c.met - c.observedMet, c.responded - c.observedResponded),
              percent(c.observedMet, c.observedResponded),
            ]
          : []),
      ]
      return `${c.name.padEnd(16)}${cells.map((t) => String(t).padStart(10)).join('')}`
    }),
    '',
    ...report.stages.map(
      (s) =>
        `stage ${s.stage}  process ${s.pid}  running ${s.running}  waiting ${s.waiting}  dropped events ${s.dropped}  ${levelText(s)}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

/** What the stage's worker does with the level that was asked for. */
function levelText({ appliedLevel, levelRefusal }: LinkReport['stages'][number]): string {
  if (levelRefusal !== 'none') return `level not applied: ${levelRefusal}`
  return appliedLevel < 0 ? 'no level applied' : `level ${appliedLevel} applied`
}

/** Several engines of one server, one line each; nothing where there is one and it is steered. */
function enginesLines({ engines = [], unprotected = 0 }: LinkReport): string[] {
  if (engines.length < 2 && unprotected === 0) return []
  return [
    `${engines.length} engines${unprotected > 0 ? `, ${unprotected} UNPROTECTED: first come first served` : ''}`,
    ...engines.map(
      (e) =>
        `  ${e.segment}  ${e.isSteered ? `steered  step ${e.steps}  waiting ${e.waiting}` : 'nobody steers it'}`,
    ),
  ]
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)}%`
}

/** NaN does not survive JSON; what is not known comes as null. */
function pressureLine(report: LinkReport): string {
  if (report.pressureSource === 'none') return 'pressure unknown'
  const share = (value: number | null): string =>
    value === null || Number.isNaN(value) ? '-' : value.toFixed(2)
  const age = report.pressureAgeMs === null ? '-' : report.pressureAgeMs.toFixed(0)
  return `pressure ${share(report.smoothedPressure)} smoothed, ${share(report.pressure)} raw  ${report.pressureKind} by ${report.pressureSource}, ${age} ms old`
}
