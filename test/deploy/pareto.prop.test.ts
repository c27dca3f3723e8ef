import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { machine, plan, readPipeline } from '../../src/deploy/index.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { unitsOf } from '../../src/deploy/search/units.js'
import { runs } from '../support/runs.js'
import { exhaust } from './support/exhaustive.js'
import { randomPipeline } from './support/random-pipeline.js'

// The long runs take minutes on a slow machine; time decides nothing here.
vi.setConfig({ testTimeout: 3_600_000 })

const COUNT = runs(15, 1_000)

test(`three objectives against every placement there is, on ${COUNT} random pipelines, some with two outputs`, () => {
  const counts = { points: 0, attained: 0, stated: 0, fronts: 0, complete: 0, none: 0 }
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const overlap = (['nested', 'disjoint', 'any'] as const)[seed % 3]!
    const pipeline = randomPipeline(70_000 + seed, {
      nodes: 2 + (seed % 3),
      degrees: [1, 2],
      plain: seed % 2 === 0,
      twoOutputs: seed % 5 < 2,
    })
    const graph = buildTaskGraph(pipeline)
    const gpus = machine({ gpus: 3, memoryGiB: 16 + (seed % 5) * 8 })
    const truth = exhaust(graph, gpus, overlap)
    try {
      unitsOf(graph, gpus)
    } catch {
      expect(truth.placements, `seed ${seed}`).toBe(0)
      counts.none += 1
      continue
    }
    const of = (objective: 'latency' | 'rate' | 'pareto') =>
      plan(graph, gpus, { objective, overlap })
    const pareto = of('pareto')
    if (truth.placements === 0) {
      expect(pareto.plans, `seed ${seed}`).toHaveLength(0)
      counts.none += 1
      continue
    }
    const { plans, front } = pareto
    const rate = of('rate').plans[0]!
    const latency = of('latency').plans[0]!
    expect(rate.lowerMs / truth.rate![0]!, `seed ${seed} rate`).toBeCloseTo(1, 6)
    expect(latency.lowerMs / truth.latency![0]!, `seed ${seed} latency`).toBeCloseTo(1, 6)
    // The ends of the front are the plans of the other two objectives, or better.
    expect(plans.at(-1)!.ratePerSec, `seed ${seed}`).toBeGreaterThanOrEqual(
      rate.ratePerSec * (1 - 1e-6),
    )
    expect(plans[0]!.latencyMs, `seed ${seed}`).toBeLessThanOrEqual(latency.latencyMs * (1 + 1e-6))
    for (const [periodMs, latencyMs] of truth.front) {
      counts.points += 1
      const away = Math.min(
        ...plans.map((one) => Math.max(one.periodMs / periodMs, one.latencyMs / latencyMs) - 1),
      )
      if (away < 1e-6) counts.attained += 1
      else counts.stated += 1
      // A point that no row reaches is within the distance that the front states.
      expect(away, `seed ${seed}: ${periodMs}, ${latencyMs}`).toBeLessThanOrEqual(front!.gap + 1e-6)
    }
    for (const [index, one] of plans.entries()) {
      const next = plans[index + 1]
      if (next !== undefined) {
        expect(next.latencyMs).toBeGreaterThan(one.latencyMs)
        expect(next.periodMs).toBeLessThan(one.periodMs)
      }
      expect(one.lowerMs, `seed ${seed}`).toBeLessThanOrEqual(one.latencyMs * (1 + 1e-9))
    }
    counts.fronts += 1
    if (front!.complete) counts.complete += 1
  }
  console.log(JSON.stringify(counts))
  expect(counts.complete).toBeGreaterThan(counts.fronts / 2)
})

const cases = (name: string) => readPipeline(readFileSync(`test/deploy/pipelines/${name}`, 'utf8'))

test('the front ends at the best rate, also where the best bounds on the way cannot be scheduled', () => {
  const { graph } = cases('unschedulable-corner.json')
  const { plans, front } = plan(graph, machine({ gpus: 3 }), { objective: 'pareto' })
  const best = plan(graph, machine({ gpus: 3 }), { objective: 'rate' }).plans[0]!
  expect(best.ratePerSec).toBeCloseTo(23.81, 2)
  expect(plans.at(-1)!.ratePerSec).toBeCloseTo(best.ratePerSec, 6)
  expect(front!.complete).toBe(false)
  expect(front!.gap).toBeGreaterThan(0)
})

test('branches that run one after another on a group are priced before anything is scheduled', () => {
  const { graph } = cases('guidance-branches.yaml')
  const gpus = machine({ gpus: 8, hardware: 'h100' })
  const best = plan(graph, gpus, { objective: 'latency', overlap: 'disjoint' }).plans[0]!
  expect(best.latencyMs).toBeCloseTo(33_550, -1)
  expect(best.optimal).toBe(true)
})

test('a tensor-parallel group stays on a host', () => {
  const text = (parallel: string) => `
name: split
nodes: { a: { parallel: [${parallel}], timesMs: { 1: 10, 4: 3 } } }
entries: [a]
outputs: [{ node: a }]
`
  const gpus = machine({ gpus: 4, gpusPerHost: 2 })
  const degree = (parallel: string) =>
    plan(readPipeline(text(parallel)).graph, gpus, { objective: 'rate' }).plans[0]!.degrees.a
  expect(degree('tensor')).toBe(1)
  expect(degree('sequence')).toBe(4)
})
