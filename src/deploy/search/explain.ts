/**
 * @module
 * Says in two or three sentences why a plan is what it is: what binds its period, what its latency is made of, and what
 * the next best placement does differently.
 */
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from './plan.js'

export function explainPlan(graph: TaskGraph, plan: Plan, other: Plan | undefined): string {
  const parts = [bindsPeriod(graph, plan), bindsLatency(graph, plan)]
  if (plan.schedule.periodGap > 0)
    parts.push(
      `the best schedule found needs ${percent(plan.schedule.periodGap)} more than the period bound`,
    )
  if (plan.schedule.latencyGap > 0)
    parts.push(
      `waiting for shared GPUs adds ${percent(plan.schedule.latencyGap)} to the latency bound`,
    )
  if (!plan.optimal)
    parts.push(`not proven best: up to ${percent(plan.gap)} above the bound of ${ms(plan.lowerMs)}`)
  if (other !== undefined) parts.push(difference(plan, other))
  return `${parts.join('; ')}.`
}

/** `dit g0-g3, vae g4-g5`: groups in words, nodes of one group together. */
export function describePlacement(placement: Plan['placement']): string {
  const groups = new Map<string, string[]>()
  for (const [path, gpus] of Object.entries(placement)) {
    const key = gpuRange(gpus)
    groups.set(key, [...(groups.get(key) ?? []), path])
  }
  return [...groups].map(([gpus, paths]) => `${paths.join(' + ')} on ${gpus}`).join(', ')
}

/** `g0-g3`, `g0,g2`. */
export function gpuRange(gpus: readonly number[]): string {
  const first = gpus[0]!
  const last = gpus.at(-1)!
  if (gpus.length > 1 && last - first === gpus.length - 1) return `g${first}-g${last}`
  return gpus.map((gpu) => `g${gpu}`).join(',')
}

function bindsPeriod(graph: TaskGraph, plan: Plan): string {
  const { load, cycle } = plan.bounds
  if (cycle.periodMs > load.periodMs * (1 + 1e-9)) {
    const names = cycle.nodes.map((node) => graph.tasks[node]!.path)
    const state = cycle.edges
      .map((edge) => graph.dependences[edge.origin])
      .find((edge) => edge !== undefined && edge.lambda > 0)
    return `period ${ms(plan.periodMs)}, set by the cycle ${[...names, names[0]].join(' -> ')}${state === undefined ? '' : ` (${state.why})`}`
  }
  const where =
    load.resource < Object.keys(plan.timed.resources).length && isGpu(plan, load.resource)
      ? `g${load.resource}`
      : 'the CPU'
  const names = load.nodes.map((node) => graph.tasks[node]!.path)
  return `period ${ms(plan.periodMs)}, set by the work on ${where} (${names.join(' + ')})`
}

function bindsLatency(graph: TaskGraph, plan: Plan): string {
  const { path, work } = plan.bounds
  if (work.firstOutputMs > path.firstOutputMs * (1 + 1e-9))
    return `latency ${ms(plan.latencyMs)}, set by all that g${work.resource} must do before the first output`
  const names = path.nodes.map((node) => graph.tasks[node]!.path)
  return `latency ${ms(plan.latencyMs)} along ${names.join(' -> ')}`
}

function difference(plan: Plan, other: Plan): string {
  const signed = (mine: number, theirs: number): string => {
    const change = theirs / mine - 1
    return `${change >= 0 ? '+' : '-'}${percent(Math.abs(change))}`
  }
  const figures = `period ${ms(other.periodMs)} (${signed(plan.periodMs, other.periodMs)}), latency ${ms(other.latencyMs)} (${signed(plan.latencyMs, other.latencyMs)})`
  return `against ${describePlacement(other.placement)}: ${figures}`
}

function isGpu(plan: Plan, resource: number): boolean {
  return Object.values(plan.placement).some((gpus) => gpus.includes(resource))
}

export function ms(value: number): string {
  return `${value >= 1000 ? (value / 1000).toFixed(3).replace(/0+$/, '').replace(/\.$/, '') : value.toFixed(1)} ${value >= 1000 ? 's' : 'ms'}`
}

function percent(fraction: number): string {
  return `${(fraction * 100).toFixed(1)} %`
}
