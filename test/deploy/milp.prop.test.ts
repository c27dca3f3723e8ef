import { expect, test, vi } from 'vitest'
import { machine } from '../../src/deploy/bounds/machine.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { search } from '../../src/deploy/search/search.js'
import { unitsOf } from '../../src/deploy/search/units.js'
import { runs } from '../support/runs.js'
import { loadHighs } from './support/highs.js'
import { milp } from './support/milp.js'
import { randomPipeline } from './support/random-pipeline.js'

// The long runs take minutes on a slow machine; time decides nothing here.
vi.setConfig({ testTimeout: 3_600_000 })

const COUNT = runs(3, 120)

test(`the search equals HiGHS on ${COUNT} pipelines of five to seven nodes on four or five GPUs`, async () => {
  const highs = await loadHighs()
  let compared = 0
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const pipeline = randomPipeline(5000 + seed, {
      nodes: 5 + (seed % 3),
      degrees: [1, 2, 4],
      once: seed % 4 === 0,
      plain: seed % 2 === 0,
      stateless: true,
    })
    const graph = buildTaskGraph(pipeline)
    const gpus = machine({ gpus: 4 + (seed % 2), memoryGiB: 24 + (seed % 3) * 12 })
    const units = unitsOf(graph, gpus)
    const solve = (minimise: 'T' | 'L', limits = {}): number | undefined => {
      const result = highs.solve(milp(graph, gpus, units, minimise, limits), {
        output_flag: false,
        mip_rel_gap: 1e-9,
        mip_abs_gap: 1e-7,
        time_limit: 120,
      })
      return result.Status === 'Optimal' ? result.ObjectiveValue : undefined
    }
    for (const kind of ['rate', 'latency'] as const) {
      const result = search(graph, gpus, units, { kind }, { overlap: 'any', nodes: 4_000_000 })
      expect(result.complete, `seed ${seed}`).toBe(true)
      const [first, second] = kind === 'rate' ? (['T', 'L'] as const) : (['L', 'T'] as const)
      const best = solve(first)
      if (best === undefined) {
        expect(result.found, `seed ${seed}`).toHaveLength(0)
        continue
      }
      const key = result.found[0]!.key
      expect(key[0]! / best, `seed ${seed} ${kind} ${key[0]} ${best}`).toBeCloseTo(1, 6)
      const limit = key[0]! * (1 + 1e-7)
      const next = solve(second, kind === 'rate' ? { periodMs: limit } : { firstOutputMs: limit })
      if (next !== undefined)
        expect(key[1]! / next, `seed ${seed} ${kind} second`).toBeCloseTo(1, 5)
      compared += 1
    }
  }
  console.log(`${compared} searches equal to HiGHS`)
  expect(compared).toBeGreaterThan(COUNT)
})
