/**
 * @module
 * A pipeline as a Mermaid flow chart: nested graphs as boxes, streaming edges thin, blocking ones thick, dependences on
 * the batch before dotted. With a placement, nodes carry their GPUs and colours by group.
 */
import type { Placement } from '../bounds/placement.js'
import type { Graph } from '../ir/pipeline.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { gpuRange } from '../search/explain.js'

const COLOURS = [
  '#dbeafe',
  '#dcfce7',
  '#fef9c3',
  '#fee2e2',
  '#f3e8ff',
  '#cffafe',
  '#ffedd5',
  '#e5e7eb',
]

export function emitMermaid(graph: TaskGraph, placement?: Placement): string {
  const lines = ['flowchart LR']
  const box = (level: Graph, prefix: string, indent: string): void => {
    for (const [name, node] of Object.entries(level.nodes)) {
      const path = prefix + name
      if (node.kind === 'graph') {
        lines.push(`${indent}subgraph ${idOf(path)}["${name}"]`)
        box(node, `${path}/`, `${indent}  `)
        lines.push(`${indent}end`)
        continue
      }
      const where = placement?.[path] === undefined ? '' : `<br/>${gpuRange(placement[path])}`
      const rate = node.runs === 'batch' ? '' : `<br/>per ${node.runs}`
      const text = `${name}${rate}${where}`
      lines.push(
        node.kind === 'engine'
          ? `${indent}${idOf(path)}[["${text}"]]`
          : `${indent}${idOf(path)}["${text}"]`,
      )
    }
  }
  box(graph.pipeline, '', '  ')
  for (const edge of graph.dependences) {
    const from = idOf(graph.tasks[edge.from]!.path)
    const to = idOf(graph.tasks[edge.to]!.path)
    if (edge.cause === 'data')
      lines.push(`  ${from} ${edge.mode === 'blocking' ? '==>' : '-->'} ${to}`)
    else if (edge.lambda === 1) lines.push(`  ${from} -. "${edge.state ?? 'hand-over'}" .-> ${to}`)
  }
  if (placement !== undefined) {
    const groups = new Map<string, string[]>()
    for (const [path, gpus] of Object.entries(placement)) {
      const key = gpus.join(',')
      groups.set(key, [...(groups.get(key) ?? []), idOf(path)])
    }
    for (const [index, ids] of [...groups.values()].entries()) {
      lines.push(`  classDef group${index} fill:${COLOURS[index % COLOURS.length]},color:#111`)
      lines.push(`  class ${ids.join(',')} group${index}`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** Mermaid reserves some words (`end`) and dislikes slashes: every id gets a prefix. */
function idOf(path: string): string {
  return `n_${path.replaceAll('/', '__').replaceAll('-', '_')}`
}
