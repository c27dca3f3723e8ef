/**
 * @module
 * The analysis as the queue takes it: every legal finding that relieves something, with the fewest GPUs it needs and the most
 * it can save. An upper limit ranks proposals; it is never evidence.
 */
import { analyze, type Finding } from '../analysis/analyze.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { LegalFinding } from './loop-project.js'

/** Name of a finding in variants and tools: `disaggregate:tts+s2v`. */
export function findingName(finding: Pick<Finding, 'rule' | 'nodes'>): string {
  return `${finding.rule}:${finding.nodes.join('+')}`
}

/** The analysis of a graph, computed once: tools page through it, and a large graph takes seconds. */
export function analysisOf(graph: TaskGraph): readonly Finding[] {
  let findings = known.get(graph)
  if (findings === undefined) {
    findings = analyze(graph)
    known.set(graph, findings)
  }
  return findings
}

const known = new WeakMap<TaskGraph, readonly Finding[]>()

/** Legal findings that could relieve a bottleneck. */
export function findingsOf(graph: TaskGraph): readonly LegalFinding[] {
  const perRequest = sumOf(graph, 'request')
  const perBatch = sumOf(graph, 'batch')
  return analysisOf(graph).flatMap((finding): LegalFinding[] => {
    const { legal, relieves } = finding
    if (!legal || relieves === undefined) return []
    const whole = relieves.target === 'period' ? perBatch : perRequest + perBatch
    const share = relieves.upToMs === undefined || whole === 0 ? null : relieves.upToMs / whole
    return [
      {
        id: findingName(finding),
        rule: finding.rule,
        why: finding.why,
        bottleneck: finding.nodes[0]!,
        target: relieves.target === 'period' ? 'rate' : 'latency',
        gpus: gpusFor(graph, finding),
        expectedGain: share === null ? null : Math.min(0.99, Number(share.toFixed(4))),
      },
    ]
  })
}

function gpusFor(graph: TaskGraph, finding: Finding): number {
  switch (finding.rule) {
    case 'stream-edge':
    case 'stream-output':
    case 'co-locate':
      return 1
    case 'pipeline-steps':
      return graph.tasks.filter((task) => task.steps === finding.nodes[0]).length
    default:
      return 2
  }
}

/** Single-GPU times of the tasks of a rate; 0 where one has none. */
function sumOf(graph: TaskGraph, rate: 'request' | 'batch'): number {
  return graph.tasks
    .filter((task) => task.node.runs === rate)
    .reduce((sum, task) => sum + (Object.values(task.node.timesMs ?? {})[0]?.['1'] ?? 0), 0)
}
