/** Propositions 8.4 to 8.7 and the reduction of section 8.2, on random instances of their own templates. */
import { expect, test, vi } from 'vitest'
import { deploymentBounds, displayOffsetBound } from '../../src/deploy/bounds/deployment-bounds.js'
import { displayOffset } from '../../src/deploy/bounds/display-offset.js'
import { machine } from '../../src/deploy/bounds/machine.js'
import type { TimedEdge, TimedGraph } from '../../src/deploy/bounds/timed-graph.js'
import { buildTaskGraph } from '../../src/deploy/ir/build-task-graph.js'
import { definePipeline } from '../../src/deploy/ir/builder.js'
import { attainPeriod, scheduleAt } from '../../src/deploy/schedule/cyclic-schedule.js'
import { search } from '../../src/deploy/search/search.js'
import { unitsOf } from '../../src/deploy/search/units.js'
import { runs } from '../support/runs.js'
import { mulberry } from './support/mulberry.js'
import { unroll, violation } from './support/simulate.js'

// The long runs take minutes on a slow machine; time decides nothing here.
vi.setConfig({ testTimeout: 3_600_000 })

const COUNT = runs(300, 10_000)

function template(
  tauMs: readonly number[],
  resources: readonly (readonly number[])[],
  edges: readonly (readonly [from: number, to: number, lambda: number, kappaMs: number])[],
  chunks: number,
): TimedGraph {
  return {
    tauMs,
    share: tauMs.map(() => 1),
    periodic: tauMs.map(() => true),
    edges: edges.map(
      ([from, to, lambda, kappaMs], origin): TimedEdge => ({ from, to, lambda, kappaMs, origin }),
    ),
    entries: [0],
    outputs: new Array<number>(chunks).fill(tauMs.length - 1),
    resources,
    resourceCount: 1 + Math.max(...resources.flat()),
  }
}

/** d0* of the schedule found at a period, measured on its unrolled instances; the rules are checked on the way. */
function measured(graph: TimedGraph, periodMs: number): number {
  const schedule = scheduleAt(graph, periodMs)!
  const trace = unroll(graph, periodMs, schedule.startMs, 8)
  expect(violation(graph, trace, periodMs)).toBeUndefined()
  return displayOffset(trace.readyMs, periodMs)
}

/** A DiT and a VAE on G GPUs: co-located, and one disaggregated split (section 8.3). */
function ditVae(seed: number, slowerTogether: boolean) {
  const random = mulberry(seed)
  const value = (low: number, high: number): number => low + random() * (high - low)
  const gpus = 2 + Math.floor(random() * 7)
  const split = 1 + Math.floor(random() * (gpus - 1))
  const alone = { dit: value(10, 400), vae: value(10, 400) }
  const factor = (): number => (slowerTogether ? value(1.05, 2) : value(0.3, 1))
  const together = { dit: alone.dit * factor(), vae: alone.vae * factor() }
  const self = { dit: value(0, 30), vae: value(0, 30) }
  const kappa = slowerTogether ? 0 : value(0, 20)
  const chunks = 1 + Math.floor(random() * 16)
  const all = Array.from({ length: gpus }, (_, gpu) => gpu)
  const own = (kappaMs: number): [number, number, number, number][] => [
    [0, 1, 0, kappaMs],
    [0, 0, 1, self.dit],
    [1, 1, 1, self.vae],
  ]
  const colocated = template([together.dit, together.vae], [all, all], own(0), chunks)
  const pipelined = template(
    [alone.dit, alone.vae],
    [all.slice(0, split), all.slice(split)],
    own(kappa),
    chunks,
  )
  return { colocated, pipelined, alone, together, self }
}

test(`proposition 8.4: co-location has the smaller display offset (${COUNT} instances)`, () => {
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const { colocated, pipelined } = ditVae(seed, false)
    const period =
      Math.max(deploymentBounds(colocated).periodMs, deploymentBounds(pipelined).periodMs) * 1.01
    const col = measured(colocated, period)
    const pipe = measured(pipelined, period)
    expect(col, `seed ${seed}`).toBeLessThanOrEqual(pipe + 1e-6)
    // The proof's own expressions: T + tau_D + kappa + tau_V.
    expect(col).toBeCloseTo(displayOffsetBound(colocated, period), 6)
    expect(pipe).toBeCloseTo(displayOffsetBound(pipelined, period), 6)
  }
})

test('proposition 8.4 needs its hypothesis: stages that are slower on the larger group turn it round', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { colocated, pipelined } = ditVae(seed, true)
    const period = deploymentBounds(colocated).periodMs * 1.01 + 60
    expect(measured(colocated, period)).toBeGreaterThan(measured(pipelined, period))
  }
})

test(`proposition 8.5: sustainable periods, and who wins the rate (${COUNT} instances)`, () => {
  let splitWins = 0
  let togetherWins = 0
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const { colocated, pipelined, alone, together, self } = ditVae(seed, false)
    const col = Math.max(
      together.dit + together.vae,
      together.dit + self.dit,
      together.vae + self.vae,
    )
    const pipe = Math.max(alone.dit + self.dit, alone.vae + self.vae)
    expect(deploymentBounds(colocated).periodMs).toBeCloseTo(col, 9)
    expect(deploymentBounds(pipelined).periodMs).toBeCloseTo(pipe, 9)
    // Both are attained, so whichever is smaller is the better rate: the proposition's "if" cuts both ways.
    expect(attainPeriod(colocated).periodGap).toBe(0)
    expect(attainPeriod(pipelined).periodGap).toBe(0)
    if (pipe <= col) splitWins += 1
    else togetherWins += 1
  }
  expect(splitWins).toBeGreaterThan(0)
  expect(togetherWins, 'without the hypothesis the co-located one may win').toBeGreaterThan(0)
})

/** n denoising steps, sequence-parallel on n GPUs or one GPU each (section 8.4). */
function steps(seed: number, split: (n: number, tq: number, random: () => number) => number) {
  const random = mulberry(seed)
  const n = 2 + Math.floor(random() * 5)
  const tq = 5 + random() * 100
  const tsp = split(n, tq, random)
  const chunks = 1 + Math.floor(random() * 8)
  const all = Array.from({ length: n }, (_, step) => step)
  const chain = (kappa: () => number): [number, number, number, number][] => [
    ...all.slice(1).map((step): [number, number, number, number] => [step - 1, step, 0, kappa()]),
    ...all.map((step): [number, number, number, number] => [step, step, 1, 0]),
  ]
  const sequence = template(
    all.map(() => tsp),
    all.map(() => all),
    chain(() => 0),
    chunks,
  )
  const pipeline = template(
    all.map(() => tq),
    all.map((step) => [step]),
    chain(() => random() * 5),
    chunks,
  )
  return { n, tq, tsp, sequence, pipeline }
}

/** Sublinear: between T_Q / n and T_Q. */
const sublinear = (n: number, tq: number, random: () => number): number =>
  tq / n + random() * (tq - tq / n)

test(`proposition 8.6: sequence parallelism has no higher first-frame latency (${COUNT} instances)`, () => {
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const { n, tsp, sequence, pipeline } = steps(seed, sublinear)
    const period = Math.max(n * tsp, deploymentBounds(pipeline).periodMs) * 1.02 + 1
    const sp = measured(sequence, period)
    const pp = measured(pipeline, period)
    expect(sp, `seed ${seed}`).toBeLessThanOrEqual(pp + 1e-6)
    expect(sp).toBeCloseTo(period + n * tsp, 6)
  }
})

test('proposition 8.6 needs its hypothesis: a step that is slower in parallel is later', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { n, tsp, sequence, pipeline } = steps(seed, (_, tq) => tq * 2.5)
    const period = n * tsp * 1.1 + 40
    expect(measured(sequence, period)).toBeGreaterThan(measured(pipeline, period))
  }
})

test(`proposition 8.7: one step per GPU sustains n T_SP against T_Q (${COUNT} instances)`, () => {
  for (let seed = 1; seed <= COUNT; seed += 1) {
    const { n, tq, tsp, sequence, pipeline } = steps(seed, sublinear)
    const sp = attainPeriod(sequence)
    const pp = attainPeriod(pipeline)
    expect(sp.periodMs).toBeCloseTo(n * tsp, 6)
    expect(pp.periodMs).toBeCloseTo(tq, 6)
    expect(pp.periodMs).toBeLessThanOrEqual(sp.periodMs * (1 + 1e-9))
  }
})

test('proposition 8.7 needs its hypotheses: superlinear speed-up, or one cache under all steps', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { n, tq, sequence, pipeline } = steps(seed, (count, time) => (time / count) * 0.8)
    expect(attainPeriod(sequence).periodMs).toBeLessThan(attainPeriod(pipeline).periodMs)
    // The last step of a batch hands the cache to the first of the next: nothing overlaps.
    const shared = {
      ...pipeline,
      edges: [...pipeline.edges, { from: n - 1, to: 0, lambda: 1, kappaMs: 0, origin: -1 }],
    }
    expect(attainPeriod(shared).periodMs).toBeGreaterThanOrEqual(n * tq - 1e-6)
  }
})

test(`section 8.2: without edges the best period is the least makespan (${runs(60, 1_000)} instances)`, () => {
  for (let seed = 1; seed <= runs(60, 1_000); seed += 1) {
    const random = mulberry(seed)
    const jobs = Array.from(
      { length: 2 + Math.floor(random() * 6) },
      () => 1 + Math.floor(random() * 30),
    )
    const machines = 2 + Math.floor(random() * 3)
    const names = jobs.map((_, index) => `v${index}`)
    const graph = buildTaskGraph(
      definePipeline({
        name: 'jobs',
        nodes: Object.fromEntries(names.map((name, index) => [name, { timesMs: jobs[index]! }])),
        entries: names,
        outputs: [{ node: names[0]! }],
      }),
    )
    const gpus = machine({ gpus: machines })
    const found = search(graph, gpus, unitsOf(graph, gpus), { kind: 'rate' })
    expect(found.complete).toBe(true)
    expect(found.found[0]!.key[0], `seed ${seed}`).toBeCloseTo(makespan(jobs, machines), 9)
  }
})

/** Every assignment of jobs to machines. */
function makespan(jobs: readonly number[], machines: number): number {
  let best = Number.POSITIVE_INFINITY
  const load = new Array<number>(machines).fill(0)
  const visit = (job: number): void => {
    if (job === jobs.length) {
      best = Math.min(best, Math.max(...load))
      return
    }
    for (let at = 0; at < machines; at += 1) {
      load[at]! += jobs[job]!
      visit(job + 1)
      load[at]! -= jobs[job]!
    }
  }
  visit(0)
  return best
}
