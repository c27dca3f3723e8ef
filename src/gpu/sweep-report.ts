/**
 * @module
 * The sweep as one HTML file: a line chart per question and the table, with nothing fetched and no script.
 */
import type { SweepRecord } from './sweep-csv.js'

/** One line of a chart. */
interface Series {
  readonly label: string
  readonly of: (record: SweepRecord) => number
}

interface Chart {
  readonly title: string
  readonly unit: string
  readonly series: readonly Series[]
}

const CHARTS: readonly Chart[] = [
  {
    title: 'Shared stage: time per output token',
    unit: 'ms',
    series: [
      { label: 'alone', of: (r) => r.tpotMs },
      { label: 'alone, p95', of: (r) => r.tpotP95Ms },
      { label: 'downstream running', of: (r) => r.coRunTpotMs },
    ],
  },
  {
    title: 'First response of a short request while a long one runs',
    unit: 'ms',
    series: [
      { label: 'median', of: (r) => r.coRunTtftMs },
      { label: 'p95', of: (r) => r.coRunTtftP95Ms },
    ],
  },
  {
    title: 'Downstream stage: time per step',
    unit: 'ms',
    series: [
      { label: 'alone', of: (r) => r.downstreamMs },
      { label: 'shared stage running', of: (r) => r.coRunDownstreamMs },
    ],
  },
  {
    title: 'Bandwidth of the shared stage',
    unit: 'GB/s',
    series: [
      { label: 'alone', of: (r) => r.gbPerSec },
      { label: 'downstream running', of: (r) => r.coRunGbPerSec },
    ],
  },
]

const WIDTH = 640
const HEIGHT = 260
const PAD = { left: 56, right: 172, top: 12, bottom: 40 }

/** The whole page. `facts` are lines on where the numbers are from. */
export function renderSweepReport(
  records: readonly SweepRecord[],
  title: string,
  facts: readonly string[],
): string {
  // The whole device is no point of the partition curve: its two sides share every SM.
  const curve = records.filter((r) => r.kind !== 'off').sort((a, b) => a.sms - b.sms)
  const charts = CHARTS.map((chart) => renderChart(chart, curve)).join('\n')
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; --fg: #1c1e21; --soft: #6a7078; --grid: #d9dde2; --a: #1f6fb2; --b: #b4561c; --c: #3c8a3f }
@media (prefers-color-scheme: dark) { :root { --fg: #e7e9ec; --soft: #9aa1aa; --grid: #3a3f46; --a: #6fb3ec; --b: #ee9a61; --c: #83cf86 } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--fg); max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h2 { font-size: 1rem; margin: 1.6rem 0 .3rem } ul { color: var(--soft) } svg { width: 100%; max-width: ${WIDTH}px; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft) } .grid { stroke: var(--grid) }
.l0 { stroke: var(--a); fill: var(--a) } .l1 { stroke: var(--b); fill: var(--b) } .l2 { stroke: var(--c); fill: var(--c) }
polyline { fill: none !important; stroke-width: 2 } circle { stroke: none }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 0 1.5rem } .scroll { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums } th, td { white-space: nowrap; padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--grid) }
</style>
<h1>${escapeHtml(title)}</h1>
<ul>${facts.map((fact) => `<li>${escapeHtml(fact)}</li>`).join('')}</ul>
<div class="charts">
${charts}
</div>
<h2>All numbers</h2>
<div class="scroll">${renderTable(records)}</div>
</html>
`
}

function renderChart(chart: Chart, records: readonly SweepRecord[]): string {
  const lines = chart.series
    .map((series, i) => ({
      label: series.label,
      className: `l${i}`,
      points: records
        .map((r) => [r.sms, series.of(r)] as const)
        .filter(([, y]) => Number.isFinite(y)),
    }))
    .filter((line) => line.points.length > 0)
  if (lines.length === 0) return ''
  const xs = lines.flatMap((line) => line.points.map(([x]) => x))
  const low = Math.min(...xs)
  const high = Math.max(...xs, low + 1)
  const top = niceCeiling(Math.max(...lines.flatMap((line) => line.points.map(([, y]) => y))))
  const plotWidth = WIDTH - PAD.left - PAD.right
  const plotHeight = HEIGHT - PAD.top - PAD.bottom
  const px = (x: number): number => PAD.left + ((x - low) / (high - low)) * plotWidth
  const py = (y: number): number => PAD.top + (1 - y / top) * plotHeight
  const at = (n: number): string => n.toFixed(1)
  const grid = [0, 0.25, 0.5, 0.75, 1].map((f) => {
    const y = at(py(f * top))
    return `<line class="grid" x1="${PAD.left}" x2="${WIDTH - PAD.right}" y1="${y}" y2="${y}"/><text x="${PAD.left - 6}" y="${y}" dy="4" text-anchor="end">${shortNumber(f * top)}</text>`
  })
  const ticks = [...new Set(xs)].map(
    (x) =>
      `<text x="${at(px(x))}" y="${HEIGHT - PAD.bottom + 16}" text-anchor="middle">${x}</text>`,
  )
  const drawn = lines.map(({ className, label, points }, i) => {
    const path = points.map(([x, y]) => `${at(px(x))},${at(py(y))}`).join(' ')
    const dots = points.map(
      ([x, y]) =>
        `<circle class="${className}" cx="${at(px(x))}" cy="${at(py(y))}" r="3.5"><title>${x} SMs: ${shortNumber(y)} ${chart.unit}</title></circle>`,
    )
    const y = PAD.top + 14 + i * 18
    return `<polyline class="${className}" points="${path}"/>${dots.join('')}<circle class="${className}" cx="${WIDTH - PAD.right + 14}" cy="${y - 4}" r="4"/><text x="${WIDTH - PAD.right + 24}" y="${y}">${escapeHtml(label)}</text>`
  })
  return `<section><h2>${escapeHtml(chart.title)} (${chart.unit})</h2>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(chart.title)}">
${grid.join('')}${ticks.join('')}${drawn.join('')}
<text x="${PAD.left + plotWidth / 2}" y="${HEIGHT - 6}" text-anchor="middle">SMs of the shared stage</text>
</svg></section>`
}

function renderTable(records: readonly SweepRecord[]): string {
  const columns = (Object.keys(records[0] ?? {}) as (keyof SweepRecord)[]).filter((column) =>
    records.some((r) =>
      typeof r[column] === 'string' ? r[column] !== '' : Number.isFinite(r[column]),
    ),
  )
  const cell = (value: string | number): string => {
    if (typeof value === 'string') return escapeHtml(value)
    return Number.isFinite(value) ? shortNumber(value) : ''
  }
  const head = columns.map((column) => `<th>${column}</th>`).join('')
  const rows = records.map(
    (r) => `<tr>${columns.map((c) => `<td>${cell(r[c])}</td>`).join('')}</tr>`,
  )
  return `<table><tr>${head}</tr>${rows.join('')}</table>`
}

/** The next 1, 2 or 5 times a power of ten. */
function niceCeiling(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(4)))
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
