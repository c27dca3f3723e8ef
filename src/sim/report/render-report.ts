/**
 * @module
 * One self-contained HTML file: data, style, charts and the chart library inside, nothing fetched (a content security policy says so
 * too). Without JavaScript the tables still say everything.
 */
import { PAGE_SCRIPT } from './page-script.js'
import { PAGE_STYLE } from './page-style.js'
import type { ReportData } from './report-data.js'
import {
  accountTable,
  attainmentTable,
  classNames,
  duration,
  escapeHtml,
  latencyTable,
  percent,
  seriesTable,
  sloTable,
} from './tables.js'

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

/** `chartLibrary` is the source of Chart.js (MIT), to be inlined. */
export function renderReport(data: ReportData, chartLibrary: string): string {
  const { runtime, workload } = data
  const names = classNames(data)
  const title = `${runtime.model} on ${runtime.gpu}: policies side by side`
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
<p class="muted"><span class="badge">simulated</span> No GPU was used. The scheduler is the library’s own; the GPU, the model and the engine around it are a model whose parameters and their sources are in <code>src/sim/omni/parameters.ts</code>.</p>
${setup(data)}
<h2>SLO attainment by policy and class</h2>
<p>${headline(data)}</p>
<div class="stack">
<div class="panel"><div class="chart tall"><canvas id="attainment" role="img" aria-label="Bars: share of arrived requests that met their SLO, by class and policy. The same numbers are in the table below."></canvas></div></div>
<div class="panel">${attainmentTable(data, 'attainmentOverArrived')}</div>
<details><summary>Over completed requests only, as the paper counts</summary><div class="panel">${attainmentTable(data, 'attainmentOverCompleted')}</div></details>
<div class="panel">${accountTable(data)}</div>
</div>
<h2>First-response latency</h2>
<p>Time to first token for text, to the first audio for speech, end to end for images; queueing included. The dashed vertical line is the class’s SLO.</p>
<div class="grid">
${names.map((name) => latencyPanel(data, name)).join('\n')}
</div>
<h2>Over time</h2>
<p>Means over equal spans of virtual time. The cap is nominal where a policy does not control SMs; pressure is the share of time in which GPU work had memory active, renewed as slowly as NVML renews it.</p>
<div class="grid">
${seriesPanel(data, 'waiting', 'waiting', 'Waiting for the shared stage', 1)}
${seriesPanel(data, 'protected', 'protected', 'Waiting and protected', 1)}
${seriesPanel(data, 'cap', 'capSms', 'SMs the shared stage may use', 0)}
${seriesPanel(data, 'pressure', 'pressure', 'Memory pressure', 2)}
</div>
<h2>What this rests on</h2>
<div class="stack"><div class="panel">${sloTable(data)}</div></div>
<ul>
<li>Ladder while co-running: ${data.calibration.levels.join(', ')} of ${runtime.totalSms} SMs; otherwise ${data.calibration.aggressiveSms}. Pressure counts as saturated at ${data.calibration.saturation}.</li>
${workload.notes.map((note) => `<li>${escapeHtml(note.charAt(0).toUpperCase() + note.slice(1))}</li>`).join('\n')}
${Object.entries(runtime.overrides)
  .map(
    ([path, value]) => `<li>Overridden parameter: <code>${escapeHtml(path)}</code> = ${value}</li>`,
  )
  .join('\n')}
</ul>
<footer>Charts by Chart.js (MIT). This file is complete: it fetches nothing.</footer>
</main>
<script type="application/json" id="data">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>
<script>${inlineScript(chartLibrary)}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`
}

function setup(data: ReportData): string {
  const { workload, policies } = data
  const rate = workload.offeredPerSecond
  const entries: [string, string][] = [
    ['workload', workload.name],
    [
      'requests',
      `${workload.requests}${rate === null ? '' : `, ${rate} a second`}, ${percent(workload.longFraction)} % on the long path`,
    ],
    ['seed', String(workload.seed)],
    ['virtual time', duration(policies[0]?.virtualMs)],
    ['policies', policies.map((policy) => `${policy.name}: ${policy.about}`).join('\n')],
  ]
  if (workload.skippedLines > 0) {
    entries.splice(2, 0, ['broken lines left out', String(workload.skippedLines)])
  }
  const rows = entries.map(
    ([name, text]) => `<dt>${name}</dt><dd>${escapeHtml(text).replaceAll('\n', '<br>')}</dd>`,
  )
  return `<dl class="setup">${rows.join('\n')}</dl>`
}

/** The result in one sentence, from the numbers: best policy and how it stands to the first one listed. */
function headline(data: ReportData): string {
  const over = (of: ReportData['policies'][number]): number => of.all.attainmentOverArrived ?? 0
  const first = data.policies[0]
  if (first === undefined) return ''
  const best = data.policies.reduce((a, b) => (over(b) > over(a) ? b : a))
  if (best === first) {
    return `Of all that arrived, ${escapeHtml(first.name)} let ${percent(over(first))} % meet their SLO; no policy here did better.`
  }
  return `Of all that arrived, ${percent(over(best))} % met their SLO under ${escapeHtml(best.name)}, ${percent(over(first))} % under ${escapeHtml(first.name)}.`
}

function latencyPanel(data: ReportData, name: string): string {
  const slo = data.calibration.classes.find((of) => of.name === name)?.sloMs
  const safe = escapeHtml(name)
  return `<div class="panel"><h3>${safe} <span class="muted">SLO ${duration(slo)}</span></h3>
<div class="chart"><canvas id="latency-${safe}" data-latency="${safe}" role="img" aria-label="Curves: share of ${safe} requests answered within a time, by policy. Percentiles are in the table."></canvas></div>
<details><summary>Table</summary>${latencyTable(data, name)}</details></div>`
}

function seriesPanel(
  data: ReportData,
  id: string,
  column: string,
  title: string,
  digits: number,
): string {
  return `<div class="panel"><h3>${title}</h3>
<div class="chart"><canvas id="${id}" role="img" aria-label="Lines over time: ${title}, by policy. Means and maxima are in the table."></canvas></div>
<details><summary>Table</summary>${seriesTable(data, column, `${title}: over time`, digits)}</details></div>`
}

/** Script text that cannot end its own element. */
function inlineScript(source: string): string {
  return source.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
}
