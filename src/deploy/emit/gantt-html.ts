/**
 * @module
 * A schedule as one HTML page with an inline SVG: no script, no network. One row per GPU, one colour per node, the batch
 * number in each bar, and a line at each period.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement, ms } from '../search/explain.js'
import type { Plan } from '../search/plan.js'
import { gantt } from './gantt.js'

const ROW = 30
const LEFT = 110
const WIDTH = 1100

export function ganttHtml(graph: TaskGraph, plan: Plan, batches = 6): string {
  const { bars, rows } = gantt(graph, plan, batches)
  const end = Math.max(...bars.map((bar) => bar.endMs))
  const x = (time: number): number => LEFT + (time / end) * (WIDTH - LEFT - 10)
  const y = new Map(rows.map(({ resource }, index) => [resource, 34 + index * ROW]))
  const height = 34 + rows.length * ROW + 24
  const colour = (task: number): string => `hsl(${(task * 137.5) % 360} 65% 72%)`
  const shapes: string[] = []
  for (let j = 0; j * plan.periodMs <= end; j += 1) {
    const at = x(j * plan.periodMs).toFixed(1)
    shapes.push(
      `<line x1="${at}" x2="${at}" y1="20" y2="${height - 20}" class="ready"/><text x="${at}" y="14" class="tick">${j === 0 ? 'ready' : `+${j} T`}</text>`,
    )
  }
  for (const { resource, name } of rows)
    shapes.push(`<text x="4" y="${y.get(resource)! + 18}">${escapeHtml(name)}</text>`)
  for (const bar of bars) {
    const left = x(bar.startMs)
    const width = Math.max(1, x(bar.endMs) - left)
    const label = bar.batch < 0 ? '' : String(bar.batch)
    const title = `${graph.tasks[bar.task]!.path}${label && `, batch ${label}`}: ${bar.startMs.toFixed(1)} to ${bar.endMs.toFixed(1)} ms`
    shapes.push(
      `<g><title>${escapeHtml(title)}</title><rect x="${left.toFixed(1)}" y="${y.get(bar.resource)! + 3}" width="${width.toFixed(1)}" height="${ROW - 6}" fill="${colour(bar.task)}"/><text x="${(left + 3).toFixed(1)}" y="${y.get(bar.resource)! + 19}" class="label">${width > 14 ? label : ''}</text></g>`,
    )
  }
  const legend = graph.tasks
    .map(
      (task, index) =>
        `<span><i style="background:${colour(index)}"></i>${escapeHtml(task.path)}</span>`,
    )
    .join(' ')
  const title = `${graph.pipeline.name}: ${describePlacement(plan.placement)}`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escapeHtml(title)}</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 24px; color: #111; background: #fff }
svg text { font-size: 12px } .tick { font-size: 10px; fill: #666 } .ready { stroke: #bbb; stroke-dasharray: 3 3 }
.label { fill: #333 } rect { stroke: #fff } span { margin-right: 14px } i { display: inline-block; width: 12px; height: 12px; margin-right: 5px }
</style>
<h1>${escapeHtml(title)}</h1>
<p>Period T = ${ms(plan.periodMs)} (${plan.ratePerSec.toFixed(2)} ${escapeHtml(graph.pipeline.unit)}/s), first output ${ms(plan.latencyMs)} after a batch is ready.</p>
<p>${escapeHtml(plan.why)}</p>
<svg viewBox="0 0 ${WIDTH} ${height}" width="100%" role="img" aria-label="Gantt chart of the schedule">
${shapes.join('\n')}
</svg>
<p>${legend}</p>
</html>
`
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
