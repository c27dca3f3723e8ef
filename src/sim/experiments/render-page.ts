/**
 * @module
 * A results document as one self-contained HTML page, with the looks of the simulation report. It fetches nothing; every chart has its
 * numbers in a table beside it, and without JavaScript the tables still say everything.
 */
import { PAGE_STYLE } from '../report/page-style.js'
import { escapeHtml, table } from '../report/tables.js'
import type { Block, Chart, ResultsDocument } from './document.js'

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

/** `chartLibrary` is the source of Chart.js (MIT), to be inlined. */
export function renderResultsPage(document: ResultsDocument, chartLibrary: string): string {
  const charts: Chart[] = []
  const sections = document.sections.map(
    (section) =>
      `<h2 id="${escapeHtml(section.id)}">${escapeHtml(section.title)}</h2>\n${grouped(section.blocks, charts)}`,
  )
  const contents = document.sections.map(
    ({ id, title }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(title)}</a></li>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escapeHtml(document.title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(document.title)}</h1>
<p><span class="badge">simulated</span></p>
${document.intro.map(paragraph).join('\n')}
<ul>${contents.join('')}</ul>
${sections.join('\n')}
<footer>Charts by Chart.js (MIT). This file is complete: it fetches nothing.</footer>
</main>
<script type="application/json" id="data">${JSON.stringify(charts).replaceAll('<', '\\u003c')}</script>
<script>${chartLibrary.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')}</script>
<script>${SCRIPT}</script>
</body>
</html>
`
}

/** Charts that follow one another, with their tables, stand in a grid. */
function grouped(blocks: readonly Block[], charts: Chart[]): string {
  return `<div class="stack">${blocks.map((block) => blockHtml(block, charts)).join('\n')}</div>`
}

function blockHtml(block: Block, charts: Chart[]): string {
  if (block.kind === 'text') return paragraph(block.text)
  if (block.kind === 'table') {
    return `<div class="panel">${table(block.caption, block.head, block.rows)}</div>`
  }
  const id = `chart-${charts.length}`
  charts.push(block)
  const title = escapeHtml(block.title)
  return `<div class="panel"><h3>${title}</h3><div class="chart"><canvas id="${id}" role="img" aria-label="Lines: ${title}. The numbers are in the tables of this section."></canvas></div></div>`
}

const paragraph = (of: string): string =>
  `<p>${escapeHtml(of).replaceAll(/`([^`]+)`/g, '<code>$1</code>')}</p>`

const SCRIPT = `
(() => {
  const charts = JSON.parse(document.getElementById('data').textContent)
  const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3], [], []]
  const drawn = []
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  const axis = (title, more) => Object.assign({
    type: 'linear', title: { display: true, text: title, color: css('--muted') }, ticks: { color: css('--muted') }, grid: { color: css('--line') },
  }, more)
  function draw() {
    while (drawn.length > 0) drawn.pop().destroy()
    charts.forEach((of, k) => drawn.push(new Chart(document.getElementById('chart-' + k), {
      type: 'line',
      data: { datasets: of.series.map((one, i) => ({
        label: one.name, data: one.points.map(([x, y]) => ({ x, y })),
        borderColor: css('--c' + (i % 8)), backgroundColor: css('--c' + (i % 8)),
        borderDash: dashes[i % 6], borderWidth: i >= 4 ? 2.5 : 1.5, pointRadius: one.points.length > 20 ? 0 : 2.5,
      })) },
      options: {
        parsing: false, animation: false, responsive: true, maintainAspectRatio: false,
        plugins: { legend: { position: 'bottom', labels: { color: css('--ink'), boxWidth: 18, boxHeight: 2 } } },
        scales: { x: axis(of.xTitle), y: axis(of.yTitle, of.yMax === undefined ? { min: 0 } : { min: 0, max: of.yMax }) },
      },
    })))
  }
  draw()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
  document.documentElement.dataset.drawn = String(drawn.length)
})()
`
