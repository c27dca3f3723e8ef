/**
 * @module
 * How long does the deployment planner take, and how near the optimum is it where it cannot prove one?
 * Wall time of one search on one core, best of three (bias: quiet machine); for the large pipelines, which are generated
 * in the shape of real ones, the worst processor time and the worst gap over three of them. About a minute in all.
 */
import { readFileSync } from 'node:fs'
import { analyze, machine, plan, readPipeline } from '../src/deploy/index.js'
import { buildTaskGraph } from '../src/deploy/ir/build-task-graph.js'
import { layeredPipeline } from '../test/deploy/support/layered-pipeline.js'
import type { Bench, BenchContext } from './bench.js'

const AGENT = 'examples/pipelines/face-to-face-agent.yaml'

export const bench: Bench = {
  name: 'deploy-search',
  question: 'time and gap of the placement search',
  async run({ quick, log }: BenchContext) {
    const { graph } = readPipeline(readFileSync(AGENT, 'utf8'), AGENT)
    const gpus = machine({ gpus: 8, hardware: 'b200' })
    const rows: Record<string, unknown> = {
      analyzeAgentMs: best(quick ? 1 : 3, () => analyze(graph)).ms,
    }
    for (const objective of ['rate', 'latency'] as const) {
      const { ms, result } = best(quick ? 1 : 3, () => plan(graph, gpus, { objective }))
      rows[`agent8Gpus${name(objective)}Ms`] = ms
      rows[`agent8Gpus${name(objective)}Optimal`] = result.plans[0]!.optimal
    }
    const flat = buildTaskGraph(layeredPipeline(1, 200, [1, 2, 4, 8]))
    // A graph answers from a table once it was asked, so each try gets a graph of its own.
    rows.analyze200NodesMs = best(quick ? 1 : 3, () => analyze({ ...flat })).ms
    const large = machine({ gpus: 64, memoryGiB: 80 })
    for (const objective of ['rate', 'latency'] as const) {
      const gaps: number[] = []
      const times: number[] = []
      for (let seed = 1; seed <= (quick ? 1 : 3); seed += 1) {
        log(`30 nodes on 64 GPUs, ${objective}, seed ${seed}`)
        const pipeline = buildTaskGraph(layeredPipeline(seed, 30, [1, 2, 4, 8]))
        const before = process.cpuUsage()
        const result = plan(pipeline, large, { objective, keep: 2 })
        const { user, system } = process.cpuUsage(before)
        times.push((user + system) / 1000)
        gaps.push(result.plans[0]!.gap)
      }
      rows[`thirtyNodes64Gpus${name(objective)}CpuMs`] = Math.round(Math.max(...times))
      rows[`thirtyNodes64Gpus${name(objective)}Gap`] = Math.max(...gaps)
    }
    return { deploy: rows }
  },
}

function best<T>(tries: number, work: () => T): { readonly ms: number; readonly result: T } {
  let ms = Number.POSITIVE_INFINITY
  let result!: T
  for (let index = 0; index < tries; index += 1) {
    const start = performance.now()
    result = work()
    ms = Math.min(ms, performance.now() - start)
  }
  return { ms: Math.round(ms * 100) / 100, result }
}

function name(objective: 'rate' | 'latency'): string {
  return objective === 'rate' ? 'Rate' : 'Latency'
}
