import { expect, test } from 'vitest'
import { closesCycle, pathBetween, sharedStates } from '../../src/deploy/analysis/relations.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { repeats, type TaskGraph } from '../../src/deploy/ir/task-graph.js'
import { runs } from '../support/runs.js'
import { mulberry } from './support/mulberry.js'
import { randomPipeline } from './support/random-pipeline.js'

const COUNT = runs(200, 3_000)

/** All tasks that chains inside a batch lead to, the first included: edge after edge, nothing remembered. */
function onward(graph: TaskGraph, from: number): Set<number> {
  const seen = new Set([from])
  for (let grown = true; grown; ) {
    grown = false
    for (const edge of graph.dependences)
      if (edge.lambda === 0 && seen.has(edge.from) && !seen.has(edge.to)) {
        seen.add(edge.to)
        grown = true
      }
  }
  return seen
}

test(`paths, cycles and shared states equal what edge by edge gives on ${COUNT} pipelines`, () => {
  let cycles = 0
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const random = mulberry(seed)
    const graph = buildTaskGraph(
      randomPipeline(seed, { nodes: 2 + (seed % 8), degrees: [1], once: seed % 3 === 0 }),
    )
    const count = graph.tasks.length
    const order = graph.tasks.map((_, task) => task).sort(() => random() - 0.5)
    const a = order.slice(0, 1 + Math.floor(random() * Math.min(3, count - 1)))
    const b = order.slice(a.length, a.length + 1 + Math.floor(random() * 2))
    const path = pathBetween(graph, a, b)
    const leads = a.some((from) => b.some((to) => onward(graph, from).has(to)))
    expect(path !== undefined, `seed ${seed}`).toBe(leads)
    if (path !== undefined) {
      expect(a).toContain(graph.dependences[path[0]!]!.from)
      expect(b).toContain(graph.dependences[path.at(-1)!]!.to)
      path.slice(1).forEach((index, at) => {
        expect(graph.dependences[index]!.from).toBe(graph.dependences[path[at]!]!.to)
      })
    }
    const closing = graph.dependences.findIndex((edge) => {
      if (edge.lambda !== 1 || !repeats(graph, edge)) return false
      const inside = [...onward(graph, edge.to)].filter((task) =>
        onward(graph, task).has(edge.from),
      )
      return a.some((task) => inside.includes(task)) && b.some((task) => inside.includes(task))
    })
    expect(closesCycle(graph, a, b) ?? -1, `seed ${seed}`).toBe(closing)
    if (closing !== -1) cycles += 1
    const touched = (side: readonly number[], name: string): boolean =>
      side.some((task) =>
        [...graph.tasks[task]!.reads, ...graph.tasks[task]!.writes].includes(name),
      )
    const both = [...graph.states.keys()].filter((name) => touched(a, name) && touched(b, name))
    const { written, readOnly } = sharedStates(graph, a, b)
    expect([...written, ...readOnly].sort()).toEqual(both.sort())
  }
  expect(cycles).toBeGreaterThan(COUNT / 20)
})
