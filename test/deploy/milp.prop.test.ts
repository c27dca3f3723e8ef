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

const COUNT = runs(2, 110)
/** Seconds that one program may take; beyond, HiGHS has no proof and only its incumbent is compared. */
const HIGHS_LIMIT = 30

test(`the search equals HiGHS on ${COUNT} pipelines of five to seven nodes on four or five GPUs`, async () => {
  const highs = await loadHighs()
  const counts = {
    equal: 0,
    nothingFits: 0,
    highsOutOfTime: 0,
    secondFigures: 0,
    branchesPriced: 0,
    oursWorse: 0,
  }
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
    const solve = (minimise: 'T' | 'L', limits = {}): { status: string; value: number } => {
      const result = highs.solve(milp(graph, gpus, units, minimise, limits), {
        output_flag: false,
        mip_rel_gap: 1e-9,
        mip_abs_gap: 1e-7,
        time_limit: HIGHS_LIMIT,
      })
      return { status: result.Status, value: result.ObjectiveValue }
    }
    for (const kind of ['rate', 'latency'] as const) {
      const result = search(graph, gpus, units, { kind }, { overlap: 'any', nodes: 4_000_000 })
      expect(result.complete, `seed ${seed}`).toBe(true)
      const [first, second] = kind === 'rate' ? (['T', 'L'] as const) : (['L', 'T'] as const)
      const { status, value } = solve(first)
      const key = result.found[0]?.key
      const what = `seed ${seed} ${kind}: ${key} against ${status} ${value}`
      if (status === 'Infeasible') {
        expect(key, what).toBeUndefined()
        counts.nothingFits += 1
        continue
      }
      if (status !== 'Optimal') {
        counts.highsOutOfTime += 1
        // What it found without a proof must not beat a proven optimum.
        if (key !== undefined && Number.isFinite(value) && value > 0)
          expect(key[0]!, what).toBeLessThanOrEqual(value * (1 + 1e-6))
        continue
      }
      if (kind === 'latency') {
        // The program knows the work of a GPU and the paths, not when a branch can start on a GPU that others hold.
        expect(key![0]!, what).toBeGreaterThanOrEqual(value * (1 - 1e-6))
        if (key![0]! > value * (1 + 1e-6)) {
          counts.branchesPriced += 1
          continue
        }
      }
      if (key![0]! > value * (1 + 1e-6)) counts.oursWorse += 1
      expect(key![0]! / value, what).toBeCloseTo(1, 6)
      counts.equal += 1
      const limit = key![0]! * (1 + 1e-7)
      const next = solve(second, kind === 'rate' ? { periodMs: limit } : { firstOutputMs: limit })
      if (next.status !== 'Optimal') continue
      if (key![1]! > next.value * (1 + 1e-5)) {
        // Its second figure may be that of a placement whose branches cost more than the program knows.
        counts.branchesPriced += 1
        continue
      }
      expect(key![1]! / next.value, `${what}, second figure ${next.value}`).toBeCloseTo(1, 5)
      counts.secondFigures += 1
    }
    if (seed % 10 === 0 || seed === COUNT)
      console.log(`${seed} pipelines: ${JSON.stringify(counts)}`)
  }
  expect(counts.oursWorse).toBe(0)
  expect(counts.equal).toBeGreaterThan(COUNT)
})
