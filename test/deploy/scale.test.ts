import { expect, test } from 'vitest'
import { analyze, definePipeline, machine, plan, renderFindings } from '../../src/deploy/index.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'

/** A chain, or all nodes behind the first. */
function many(count: number, shape: 'chain' | 'star') {
  const name = (index: number): string => `n${index}`
  return buildTaskGraph(
    definePipeline({
      name: shape,
      nodes: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [name(index), { timesMs: 5 + (index % 7) }]),
      ),
      edges: Array.from({ length: count - 1 }, (_, index) => ({
        from: shape === 'star' ? name(0) : name(index),
        to: name(index + 1),
        mode: 'streaming' as const,
      })),
      entries: ['n0'],
      outputs: [{ node: name(count - 1) }],
    }),
  )
}

test('findings of hundreds of nodes fit a screen, and those of a few are printed one by one', () => {
  for (const shape of ['chain', 'star'] as const) {
    const findings = analyze(many(200, shape))
    expect(renderFindings(findings).split('\n').length).toBeLessThan(60)
  }
  const text = renderFindings(analyze(many(200, 'star')))
  expect(text).toContain('any two of 199 nodes')
  expect(renderFindings(analyze(many(3, 'star')))).not.toContain('any two of')
})

test('a chain of 500 nodes on 64 GPUs gets a plan and a gap, for the rate and for the latency', () => {
  const graph = many(500, 'chain')
  const gpus = machine({ gpus: 64 })
  const rate = plan(graph, gpus, { objective: 'rate' }).plans[0]!
  expect(rate.lowerMs).toBeGreaterThan(60)
  expect(rate.gap).toBeLessThan(0.1)
  const latency = plan(graph, gpus, { objective: 'latency' }).plans[0]!
  expect(latency.gap).toBeLessThan(0.1)
  expect(latency.latencyMs).toBeLessThanOrEqual(rate.latencyMs)
})
