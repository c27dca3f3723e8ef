import { expect, test, vi } from 'vitest'
import { machine } from '../../src/deploy/bounds/machine.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { compareKeys } from '../../src/deploy/search/objective.js'
import { search } from '../../src/deploy/search/search.js'
import { unitsOf } from '../../src/deploy/search/units.js'
import { runs } from '../support/runs.js'
import { exhaust } from './support/exhaustive.js'
import { randomPipeline } from './support/random-pipeline.js'

// The long runs take minutes on a slow machine; time decides nothing here.
vi.setConfig({ testTimeout: 3_600_000 })

const COUNT = runs(90, 1_000)

test(`the search equals exhaustive enumeration on ${COUNT} random pipelines, both objectives, every overlap rule`, () => {
  let placements = 0
  let infeasible = 0
  // 287: a group that spans two hosts, and small groups on both.
  for (const seed of [...Array.from({ length: COUNT }, (_, index) => index + 1), 287]) {
    const overlap = (['nested', 'any', 'disjoint'] as const)[seed % 3]!
    const mixed = seed % 4 === 0
    const pipeline = randomPipeline(seed, {
      nodes: 2 + (seed % 3),
      degrees: [1, 2, 3],
      once: true,
      plain: seed % 2 === 0,
      ...(mixed && { hardware: ['a', 'b'] }),
    })
    const graph = buildTaskGraph(pipeline)
    const gpus = machine({
      gpus: seed % 10 === 0 ? 4 : 3,
      memoryGiB: 16 + (seed % 5) * 8,
      ...(mixed && { hardware: seed % 10 === 0 ? 'a:2,b:2' : 'a:1,b:2' }),
      gpusPerHost: seed % 7 === 0 ? 2 : 8,
    })
    const truth = exhaust(graph, gpus, overlap)
    placements += truth.placements
    let units: ReturnType<typeof unitsOf>
    try {
      units = unitsOf(graph, gpus)
    } catch {
      expect(truth.placements, `seed ${seed}`).toBe(0)
      infeasible += 1
      continue
    }
    for (const kind of ['rate', 'latency'] as const) {
      const result = search(graph, gpus, units, { kind }, { overlap, beamWidth: 3 })
      expect(result.complete).toBe(true)
      const expected = truth[kind]
      if (expected === undefined) expect(result.found).toHaveLength(0)
      else {
        const key = result.found[0]!.key
        const text = `seed ${seed} ${kind}: ${key} against ${expected}`
        expect(compareKeys(key, expected), text).toBe(0)
        expect(result.lowerMs).toBeLessThanOrEqual(key[0]! * (1 + 1e-9))
      }
      if (expected === undefined) infeasible += 1
    }
  }
  console.log(`${placements} placements enumerated, ${infeasible} searches with nothing to find`)
})
