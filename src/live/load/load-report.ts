/**
 * @module
 * The HTML report of load runs, one or several side by side: attainment, latency curves and a timeline per class, each with its table.
 * One file that fetches nothing; style and tables are those of the simulator's report.
 */
import { PAGE_STYLE } from '../../sim/report/page-style.js'
import { duration, escapeHtml, percent, table } from '../../sim/report/tables.js'
import { LOAD_SCRIPT } from './load-report-script.js'
import type { LoadResult } from './load-result.js'

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

/** `chartLibrary` is the source of Chart.js (MIT), to be inlined. */
export function renderLoadReport(runs: readonly LoadResult[], chartLibrary: string): string {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.classes)))]
  const title = `Load: ${runs.map((run) => run.label).join(' and ')}`
  const notValid = runs.flatMap((run) =>
    run.invalidBecause.map(
      (why) => `<p><strong>${escapeHtml(run.label)} is not valid:</strong> ${escapeHtml(why)}</p>`,
    ),
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escapeHtml(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p class="muted">Measured from outside. Every latency counts from the scheduled instant of its request; attainment is over all that were scheduled.</p>
${notValid.join('\n')}
${runsTable(runs)}
<h2>Attainment</h2>
<div class="panel"><div class="chart"><canvas id="attainment" role="img" aria-label="Share of requests within their SLO, by class and run"></canvas></div></div>
${attainmentTable(runs, names)}
${names.map((name) => classSection(runs, name)).join('\n')}
<h2>What went wrong</h2>
${errorsTable(runs)}
</main>
<script type="application/json" id="data">${JSON.stringify(runs).replaceAll('<', '\\u003c')}</script>
<script>${chartLibrary.replaceAll('</script', '<\\/script')}</script>
<script>${LOAD_SCRIPT}</script>
</body>
</html>
`
}

function runsTable(runs: readonly LoadResult[]): string {
  return table(
    'The runs',
    ['run', 'server', 'arrivals', 'seed', 'scheduled', 'met %', 'send lag p99', 'valid'],
    runs.map((run) => [
      run.label,
      run.url,
      run.arrivals,
      String(run.seed),
      String(run.scheduled),
      percent(run.attainmentOverScheduled),
      duration(run.sendLagMs.p99),
      `${run.valid ? 'yes' : 'no'}${run.interrupted ? ', interrupted' : ''}`,
    ]),
  )
}

function attainmentTable(runs: readonly LoadResult[], names: readonly string[]): string {
  return table(
    'Where requests ended',
    ['run, class', 'scheduled', 'met', 'met %', 'missed', 'failed', 'rejected', 'undetermined'],
    runs.flatMap((run) =>
      names.map((name) => {
        const of = run.classes[name]
        const cells =
          of === undefined
            ? []
            : [
                of.scheduled,
                of.met,
                percent(of.attainmentOverScheduled),
                of.missed,
                of.failed,
                of.rejected,
                of.undetermined,
              ]
        return [`${run.label}, ${name}`, ...cells.map(String)]
      }),
    ),
  )
}

function classSection(runs: readonly LoadResult[], name: string): string {
  const id = escapeHtml(name)
  const rows = runs.flatMap((run) => {
    const of = run.classes[name]
    return of === undefined
      ? []
      : [
          [
            run.label,
            `${of.metric} ≤ ${duration(of.sloMs)}`,
            duration(of.firstResponseMs.p50),
            duration(of.firstResponseMs.p95),
            duration(of.firstResponseMs.p99),
            duration(of.longestWaitMs),
            duration(of.firstByteMs.p95),
            of.realTimeFactor.p95 === null ? '–' : of.realTimeFactor.p95.toFixed(2),
            of.underrunMs.p95 === null
              ? '–'
              : `${of.underruns} (p95 ${duration(of.underrunMs.p95)})`,
          ],
        ]
  })
  return `<h2>${id}</h2>
<div class="grid">
<div class="panel"><h3>First response</h3><div class="chart"><canvas data-latency="${id}" id="latency-${id}" role="img" aria-label="Distribution of the first response of ${id}"></canvas></div></div>
<div class="panel"><h3>Over the run</h3><div class="chart"><canvas id="timeline-${id}" role="img" aria-label="p95 of the first response of ${id} over the run"></canvas></div></div>
</div>
${table(`${name}, from the scheduled instant`, ['run', 'SLO', 'p50', 'p95', 'p99', 'longest', 'first byte p95', 'RTF p95', 'underruns'], rows)}`
}

function errorsTable(runs: readonly LoadResult[]): string {
  const rows = runs.flatMap((run) =>
    run.errors.map(({ message, count }) => [run.label, String(count), message]),
  )
  return rows.length === 0 ? '<p>Nothing.</p>' : table('Errors', ['run', 'count', 'message'], rows)
}
