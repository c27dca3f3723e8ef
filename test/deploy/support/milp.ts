/**
 * The placement problem as a mixed-integer linear program for HiGHS, written from section 8 of the paper and sharing
 * nothing with the search: groups are any subset of the GPUs, so it equals the search under `overlap: 'any'`.
 *
 *   z[u,o] in {0,1}   unit u runs with option o          y[u,o,g] in {0,1}   and GPU g is in its group
 *   d[e] in [0,1]     the ends of edge e stand on different groups
 *   S[v]              start of v after its batch is ready; T period; L first output
 */
import type { Machine } from '../../../src/deploy/bounds/machine.js'
import type { TaskGraph } from '../../../src/deploy/ir/task-graph.js'
import type { Unit } from '../../../src/deploy/search/units.js'

export interface MilpLimits {
  readonly periodMs?: number
  readonly firstOutputMs?: number
}

/** CPLEX LP text that minimises T or L. */
export function milp(
  graph: TaskGraph,
  machine: Machine,
  units: readonly Unit[],
  minimise: 'T' | 'L',
  limits: MilpLimits = {},
): string {
  const rows: string[] = []
  const binaries: string[] = []
  const free: string[] = []
  const count = machine.gpus.length
  const y = (u: number, o: number, g: number): string => `y_${u}_${o}_${g}`
  const z = (u: number, o: number): string => `z_${u}_${o}`
  const tau: string[] = []
  units.forEach((unit, u) => {
    rows.push(`${unit.options.map((_, o) => z(u, o)).join(' + ')} = 1`)
    unit.options.forEach((option, o) => {
      binaries.push(z(u, o))
      const members: string[] = []
      for (let g = 0; g < count; g += 1) {
        if (machine.gpus[g]!.hardware !== option.hardware) continue
        members.push(y(u, o, g))
        binaries.push(y(u, o, g))
        rows.push(`${y(u, o, g)} - ${z(u, o)} <= 0`)
      }
      rows.push(`${members.join(' + ')} - ${option.degree} ${z(u, o)} = 0`)
    })
    unit.tasks.forEach((task, slot) => {
      tau[task] = unit.options.map((option, o) => `${option.tauMs[slot]} ${z(u, o)}`).join(' + ')
    })
  })
  const unitOf = graph.tasks.map((_, task) => units.findIndex((unit) => unit.tasks.includes(task)))
  const on = (u: number, g: number, sign: string): string =>
    units[u]!.options.flatMap((option, o) =>
      machine.gpus[g]!.hardware === option.hardware ? [`${sign} ${y(u, o, g)}`] : [],
    ).join(' ')
  for (let g = 0; g < count; g += 1) {
    const terms = units.flatMap((unit, u) =>
      unit.options.flatMap((option, o) =>
        machine.gpus[g]!.hardware === option.hardware && option.loadMs > 0
          ? [`${option.loadMs} ${y(u, o, g)}`]
          : [],
      ),
    )
    if (terms.length > 0) rows.push(`${terms.join(' + ')} - T <= 0`)
    const memory = units.flatMap((unit, u) =>
      unit.options.flatMap((option, o) =>
        machine.gpus[g]!.hardware === option.hardware && option.ownGiB > 0
          ? [`${option.ownGiB} ${y(u, o, g)}`]
          : [],
      ),
    )
    if (memory.length > 0 && Number.isFinite(machine.gpus[g]!.memoryGiB))
      rows.push(`${memory.join(' + ')} <= ${machine.gpus[g]!.memoryGiB}`)
  }
  graph.dependences.forEach((edge, e) => {
    const from = unitOf[edge.from]!
    const to = unitOf[edge.to]!
    const kappa = edge.costMs ?? 0
    if (from !== to)
      for (let g = 0; g < count; g += 1) {
        rows.push(`d_${e} ${on(from, g, '-')} ${on(to, g, '+')} >= 0`)
        rows.push(`d_${e} ${on(from, g, '+')} ${on(to, g, '-')} >= 0`)
      }
    const lag = from === to ? '' : ` - ${kappa} d_${e}`
    const shift = edge.lambda === 0 ? '' : ` + ${edge.lambda} T`
    const left = edge.from === edge.to ? '' : `S_${edge.to} - S_${edge.from} `
    rows.push(`${left}- ${tau[edge.from]!.replaceAll(' + ', ' - ')}${lag}${shift} >= 0`)
  })
  graph.tasks.forEach((_, task) => {
    if (!graph.entries.includes(task)) free.push(`S_${task}`)
  })
  const chunks = graph.outputs.length
  graph.outputs.forEach((task, k) => {
    const stagger = k === 0 ? '' : ` + ${k / chunks} T`
    rows.push(`L - S_${task} - ${tau[task]!.replaceAll(' + ', ' - ')}${stagger} >= 0`)
  })
  for (let g = 0; g < count; g += 1) {
    const terms = neededTasks(graph).flatMap((task) => {
      const u = unitOf[task]!
      const slot = units[u]!.tasks.indexOf(task)
      return units[u]!.options.flatMap((option, o) =>
        machine.gpus[g]!.hardware === option.hardware
          ? [`${option.tauMs[slot]} ${y(u, o, g)}`]
          : [],
      )
    })
    rows.push(`L - ${terms.join(' - ')} >= 0`)
  }
  if (limits.periodMs !== undefined) rows.push(`T <= ${limits.periodMs}`)
  if (limits.firstOutputMs !== undefined) rows.push(`L <= ${limits.firstOutputMs}`)
  return [
    'Minimize',
    ` obj: ${minimise}`,
    'Subject To',
    ...rows.map((row, index) => ` c${index}: ${row.replaceAll('+ -', '-').replace(/^\s*\+/, '')}`),
    'Bounds',
    ...free.map((name) => ` ${name} free`),
    'Binaries',
    ` ${binaries.join(' ')}`,
    'End',
  ].join('\n')
}

/** Tasks between an entry and the first chunk inside a batch. */
function neededTasks(graph: TaskGraph): number[] {
  const inner = graph.dependences.filter((edge) => edge.lambda === 0)
  const walk = (seed: readonly number[], forward: boolean): Set<number> => {
    const seen = new Set(seed)
    const queue = [...seed]
    for (let task = queue.pop(); task !== undefined; task = queue.pop())
      for (const edge of inner) {
        const [near, far] = forward ? [edge.from, edge.to] : [edge.to, edge.from]
        if (near === task && !seen.has(far)) {
          seen.add(far)
          queue.push(far)
        }
      }
    return seen
  }
  const after = walk(graph.entries, true)
  const before = walk([graph.outputs[0]!], false)
  return [...after].filter((task) => before.has(task))
}
