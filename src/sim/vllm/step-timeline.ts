/**
 * @module
 * Numbers the steps of a real run from its stamps alone. Without preemption a running request gets one token in every step, so its
 * first and last token lie exactly `outputTokens - 1` steps apart; and an engine that schedules one step ahead runs a request, admitted
 * right after it handed out the tokens of step k, in step k + 2. These two facts tie almost all stamps together, and any
 * contradiction between them shows that the run was not of this kind.
 */
import { HorizonError } from '../../core/errors.js'
import type { RecordedRequest } from './recorded-run.js'

export interface StepTimeline {
  /** Instants at which a step's tokens came out, ascending, with the step's number; only those whose number is certain. */
  readonly stamps: readonly { readonly ms: number; readonly step: number }[]
  /** Per request, the step of its first token; exact for most, interpolated for the rest. */
  readonly firstStep: Int32Array
}

export interface TimelineOptions {
  /** Tokens that a step can hold. */
  readonly maxBatchedTokens: number
  readonly maxSeqs: number
  /** Steps between handing out tokens and running what is scheduled next: 2 where one step is scheduled ahead, else 1. */
  readonly lead: number
}

/** A stamp follows the scheduling that it triggers by less than this. */
const FOLLOW_MS = 1

export function stepTimeline(
  run: readonly RecordedRequest[],
  options: TimelineOptions,
): StepTimeline {
  const times = [...new Set(run.flatMap((r) => [r.firstTokenMs, r.lastTokenMs]))].sort(
    (a, b) => a - b,
  )
  const at = new Map(times.map((ms, index) => [ms, index]))
  const edges: { to: number; steps: number }[][] = times.map(() => [])
  const join = (from: number, to: number, steps: number): void => {
    edges[from]?.push({ to, steps })
    edges[to]?.push({ to: from, steps: -steps })
  }
  for (const r of run)
    join(at.get(r.firstTokenMs) as number, at.get(r.lastTokenMs) as number, r.outputTokens - 1)
  joinAdmissions(run, times, at, options, join)
  const { component, offset } = walk(edges)
  return number(run, times, at, component, offset)
}

/** Ties admissions that surely fit into one step to the stamp that preceded them. */
function joinAdmissions(
  run: readonly RecordedRequest[],
  times: readonly number[],
  at: ReadonlyMap<number, number>,
  options: TimelineOptions,
  join: (from: number, to: number, steps: number) => void,
): void {
  const room = options.maxBatchedTokens - options.maxSeqs - 40
  const groups = new Map<number, RecordedRequest[]>()
  for (const r of run) groups.set(r.scheduledMs, [...(groups.get(r.scheduledMs) ?? []), r])
  for (const [scheduledMs, group] of groups) {
    const before = lastAtOrBefore(times, scheduledMs)
    if (before < 0 || scheduledMs - (times[before] as number) > FOLLOW_MS) continue
    const underWay = run.filter((r) => r.scheduledMs < scheduledMs && r.firstTokenMs > scheduledMs)
    const tokens = [...group, ...underWay].reduce((sum, r) => sum + r.promptTokens, 0)
    const first = group[0] as RecordedRequest
    if (tokens > room || group.some((r) => r.firstTokenMs !== first.firstTokenMs)) continue
    join(before, at.get(first.firstTokenMs) as number, options.lead)
  }
}

function walk(edges: readonly { to: number; steps: number }[][]): {
  component: Int32Array
  offset: Int32Array
} {
  const component = new Int32Array(edges.length).fill(-1)
  const offset = new Int32Array(edges.length)
  let components = 0
  for (let start = 0; start < edges.length; start++) {
    if (component[start] !== -1) continue
    component[start] = components
    const stack = [start]
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      for (const { to, steps } of edges[node] as { to: number; steps: number }[]) {
        const step = (offset[node] as number) + steps
        if (component[to] === -1) {
          component[to] = components
          offset[to] = step
          stack.push(to)
        } else if (offset[to] !== step) {
          throw new HorizonError('ERR_SIM_TIMELINE', 'the run cannot be numbered in steps', {
            expected: 'one token per request and step, without preemption',
            got: `two numbers for one step, ${Math.abs((offset[to] as number) - step)} apart`,
            hint: 'Fit on a run in which no request was preempted.',
          })
        }
      }
    }
    components++
  }
  return { component, offset }
}

/** Puts the components on one scale: the largest as it is, others where only one shift keeps the order of time. */
function number(
  run: readonly RecordedRequest[],
  times: readonly number[],
  at: ReadonlyMap<number, number>,
  component: Int32Array,
  offset: Int32Array,
): StepTimeline {
  const members = new Map<number, number[]>()
  component.forEach((name, node) => {
    members.set(name, [...(members.get(name) ?? []), node])
  })
  const ordered = [...members.values()].sort((a, b) => b.length - a.length)
  const exact = new Map<number, number>()
  for (const node of ordered[0] ?? []) exact.set(node, offset[node] as number)
  const loose = new Map<number, number>()
  for (const nodes of ordered.slice(1)) {
    const known = [...exact].sort((a, b) => a[0] - b[0])
    let low = -Infinity
    let high = Infinity
    const shifts: number[] = []
    for (const node of nodes) {
      const after = known.findIndex(([other]) => other > node)
      const left = known[after < 0 ? known.length - 1 : after - 1]
      const right = after < 0 ? undefined : known[after]
      const own = offset[node] as number
      if (left !== undefined) low = Math.max(low, left[1] + 1 - own)
      if (right !== undefined) high = Math.min(high, right[1] - 1 - own)
      if (left !== undefined && right !== undefined) {
        const share =
          ((times[node] as number) - (times[left[0]] as number)) /
          ((times[right[0]] as number) - (times[left[0]] as number))
        shifts.push(left[1] + share * (right[1] - left[1]) - own)
      }
    }
    shifts.sort((a, b) => a - b)
    const guess = Math.round(shifts[shifts.length >> 1] ?? (Number.isFinite(low) ? low : high))
    const shift = Math.min(Math.max(guess, low), high)
    const target = low === high ? exact : loose
    for (const node of nodes) target.set(node, (offset[node] as number) + shift)
  }
  const stepOf = (ms: number): number => {
    const node = at.get(ms) as number
    return exact.get(node) ?? (loose.get(node) as number)
  }
  return {
    stamps: [...exact]
      .sort((a, b) => a[0] - b[0])
      .map(([node, step]) => ({ ms: times[node] as number, step })),
    firstStep: Int32Array.from(run, (r) => stepOf(r.firstTokenMs)),
  }
}

/** Index of the last element not above `value`, -1 if there is none. */
function lastAtOrBefore(sorted: readonly number[], value: number): number {
  let low = -1
  let high = sorted.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) <= value) low = middle
    else high = middle
  }
  return low
}
