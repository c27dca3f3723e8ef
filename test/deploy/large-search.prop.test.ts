import { expect, test, vi } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import { type Machine, machine } from '../../src/deploy/bounds/machine.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import type { TaskGraph } from '../../src/deploy/ir/task-graph.js'
import { hostBins } from '../../src/deploy/search/host-bins.js'
import { refutesPeriod } from '../../src/deploy/search/host-bound.js'
import { plan } from '../../src/deploy/search/plan.js'
import { scorer } from '../../src/deploy/search/scorer.js'
import { search } from '../../src/deploy/search/search.js'
import { stateOf } from '../../src/deploy/search/search-state.js'
import { maximise } from '../../src/deploy/search/simplex.js'
import { packHosts } from '../../src/deploy/search/spread-hosts.js'
import { cyclesOfUnits } from '../../src/deploy/search/unit-cycles.js'
import { type Unit, unitsOf } from '../../src/deploy/search/units.js'
import { runs } from '../support/runs.js'
import { layeredPipeline } from './support/layered-pipeline.js'
import { mulberry } from './support/mulberry.js'
import { randomPipeline } from './support/random-pipeline.js'

// The long runs take minutes on a slow machine; time decides nothing here.
vi.setConfig({ testTimeout: 3_600_000 })

const COUNT = runs(40, 500)

test(`hosts as bins agree with the exact search on ${COUNT} pipelines: no period that exists is refuted, no packing lies`, () => {
  let packed = 0
  let refuted = 0
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const overlap = (['nested', 'any', 'disjoint'] as const)[seed % 3]!
    const graph = buildTaskGraph(
      randomPipeline(7000 + seed, {
        nodes: 3 + (seed % 3),
        degrees: [1, 2],
        plain: seed % 2 === 0,
      }),
    )
    const gpus = machine({
      gpus: 4,
      gpusPerHost: seed % 4 === 0 ? 4 : 2,
      memoryGiB: 24 + (seed % 3) * 16,
    })
    const units = unitsIfTheyFit(graph, gpus)
    if (units === undefined) continue
    const exact = search(graph, gpus, units, { kind: 'rate' }, { overlap, nodes: 4_000_000 })
    expect(exact.complete).toBe(true)
    const best = exact.found[0]?.key[0]
    if (best === undefined) continue
    const cycles = cyclesOfUnits(graph, gpus, units)
    const budget = { nodes: 1e9 }
    const proof = hostBins(gpus, units, cycles, overlap, budget, false)!
    expect(
      refutesPeriod(proof, units.length, best * (1 + 1e-6), [], budget),
      `seed ${seed}: ${best} ms exists`,
    ).toBe(false)
    if (refutesPeriod(proof, units.length, best * 0.9, [], budget)) refuted += 1
    const bins = hostBins(gpus, units, cycles, overlap, budget, true)!
    const random = mulberry(seed)
    const place = packHosts(best * 1.2, { bins, units: units.length, random, budget, moves: 60 })
    if (place === undefined) continue
    packed += 1
    const score = scorer(graph, gpus, units).score(stateOf(units, gpus, place.assignment))
    expect(score.periodMs, `seed ${seed}`).toBeGreaterThanOrEqual(best * (1 - 1e-9))
    expect(score.periodMs, `seed ${seed}`).toBeLessThanOrEqual(best * 1.2 * (1 + 1e-9))
    expect(score.excessGiB).toBe(0)
  }
  console.log(`${packed} packed within 1.2 of the optimum, ${refuted} refuted at 0.9 of it`)
  expect(packed).toBeGreaterThan(COUNT / 2)
  expect(refuted).toBeGreaterThan(COUNT / 2)
})

/** Undefined where a node fits no GPU: for that there is an error, and no search. */
function unitsIfTheyFit(graph: TaskGraph, gpus: Machine): readonly Unit[] | undefined {
  try {
    return unitsOf(graph, gpus)
  } catch (error) {
    if (isHorizonError(error) && error.code === 'ERR_DEPLOY_BUDGET') return undefined
    throw error
  }
}

test('the simplex finds a corner that both sides confirm', () => {
  const random = mulberry(11)
  for (let round = 0; round < 50; round += 1) {
    const width = 2 + Math.floor(random() * 6)
    const rows = Array.from({ length: 3 + Math.floor(random() * 8) }, () =>
      Float64Array.from({ length: width }, () => random()),
    )
    const limits = rows.map(() => random() * 4)
    const goal = Float64Array.from({ length: width }, () => random())
    const { x, rowWorth } = maximise(goal, rows, limits)
    const value = x.reduce((sum, item, index) => sum + item * goal[index]!, 0)
    const price = rowWorth.reduce((sum, item, index) => sum + item * limits[index]!, 0)
    rows.forEach((row, index) => {
      const used = x.reduce((sum, item, at) => sum + item * row[at]!, 0)
      expect(used).toBeLessThanOrEqual(limits[index]! + 1e-5)
    })
    goal.forEach((worth, at) => {
      const cost = rowWorth.reduce((sum, item, index) => sum + item * rows[index]![at]!, 0)
      expect(cost).toBeGreaterThanOrEqual(worth - 1e-7)
    })
    expect(value).toBeCloseTo(price, 4)
  }
})

const LARGE = runs(1, 12)

test(`30 nodes on 64 GPUs are planned within 5 % of their bound, ${LARGE} pipelines, both objectives`, () => {
  const gpus = machine({ gpus: 64, memoryGiB: 80 })
  for (let seed = 1; seed <= LARGE; seed += 1) {
    const graph = buildTaskGraph(layeredPipeline(seed, 30, [1, 2, 4, 8]))
    for (const objective of ['rate', 'latency'] as const) {
      const before = process.cpuUsage()
      const first = plan(graph, gpus, { objective, keep: 2 }).plans[0]!
      const { user, system } = process.cpuUsage(before)
      const ms = objective === 'rate' ? 1000 / first.ratePerSec : first.latencyMs
      // The table of docs/deploy.md; the processor time is told and decides nothing.
      console.log(
        `seed ${seed} ${objective}: ${ms.toFixed(2)} ms, gap ${(first.gap * 100).toFixed(2)} %, CPU ${((user + system) / 1e6).toFixed(1)} s`,
      )
      expect(first.gap, `seed ${seed} ${objective}`).toBeLessThan(0.05)
    }
  }
})
