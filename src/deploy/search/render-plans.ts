/**
 * @module
 * Plans for a terminal and for a script: a ranked table, the Pareto front in characters, and the JSON of the CLI.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement, ms } from './explain.js'
import type { Front, Plan, PlanResult } from './plan.js'

/** One plan in the JSON answer of the CLI. */
export interface PlanRow {
  readonly objective: string
  readonly placement: Readonly<Record<string, readonly number[]>>
  readonly degrees: Readonly<Record<string, number>>
  readonly latencyMs: number
  readonly ratePerSec: number
  readonly periodMs: number
  readonly optimal: boolean
  readonly gap: number
  readonly why: string
}

export function planRow(plan: Plan): PlanRow {
  const { objective, placement, degrees, optimal, gap, why } = plan
  return {
    objective,
    placement,
    degrees,
    latencyMs: round(plan.latencyMs),
    ratePerSec: round(plan.ratePerSec),
    periodMs: round(plan.periodMs),
    optimal,
    gap: round(gap),
    why,
  }
}

/** A ranked table, then the reason of each plan. */
export function renderPlans(graph: TaskGraph, result: PlanResult): string {
  const all = [...result.plans, ...result.others]
  const rows = all.map((plan, index) => [
    String(index + 1),
    ms(plan.latencyMs),
    `${plan.ratePerSec.toFixed(2)}/s`,
    plan.optimal ? 'optimal' : `gap ${(plan.gap * 100).toFixed(1)} %`,
    describePlacement(plan.placement),
  ])
  // Only the first plans were searched for; the others are what they beat.
  rows.forEach((row, index) => {
    if (index >= result.plans.length) row[3] = ''
  })
  const head = ['#', 'latency', `${graph.pipeline.unit}`, 'proof', 'placement']
  const lines = table([head, ...rows])
  const reasons = result.plans.map((plan, index) => `${index + 1}. ${plan.why}`)
  const front = result.plans.length > 1 ? ['', paretoChart(graph, result.plans)] : []
  const missing = result.front === undefined ? [] : ['', frontLine(result.front)]
  return `${[...lines, ...front, ...missing, '', ...reasons].join('\n')}\n`
}

/** What is known of the points that a front lacks. */
export function frontLine({ complete, gap, latencyGap, periodGap }: Front): string {
  if (complete) return 'The front is complete: nothing that can be scheduled is missing.'
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`
  return `The front may lack points that are up to ${percent(gap)} better in latency and period at once; its lowest latency is at most ${percent(latencyGap)}, its shortest period at most ${percent(periodGap)} from the best possible.`
}

/** The front as characters: latency to the right, rate upward. */
export function paretoChart(graph: TaskGraph, plans: readonly Plan[]): string {
  const width = 60
  const height = 12
  const low = Math.min(...plans.map((plan) => plan.latencyMs))
  const high = Math.max(...plans.map((plan) => plan.latencyMs))
  const slow = Math.min(...plans.map((plan) => plan.ratePerSec))
  const fast = Math.max(...plans.map((plan) => plan.ratePerSec))
  const grid = Array.from({ length: height }, () => new Array<string>(width).fill(' '))
  plans.forEach((plan, index) => {
    const across = high > low ? (plan.latencyMs - low) / (high - low) : 0
    const up = fast > slow ? (plan.ratePerSec - slow) / (fast - slow) : 0
    const row = grid[Math.round((1 - up) * (height - 1))]!
    row[Math.round(across * (width - 1))] = index < 9 ? String(index + 1) : '*'
  })
  const label = (value: string): string => value.padStart(10)
  const lines = grid.map((row, index) => {
    const text = index === 0 ? fast.toFixed(2) : index === height - 1 ? slow.toFixed(2) : ''
    return `${label(text)} |${row.join('')}`.trimEnd()
  })
  const axis = `${label('')} +${'-'.repeat(width)}`
  const ends = `${label('')}  ${ms(low)}${ms(high).padStart(width - ms(low).length)}`
  return [`${graph.pipeline.unit}/s`, ...lines, axis, ends, `${label('')}  latency`].join('\n')
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
