import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type HorizonConfig, parseConfig } from '../../src/config.js'
import { isHorizonError } from '../../src/core/errors.js'
import {
  chromeTrace,
  emitMermaid,
  emitSglangOmni,
  emitVllmOmni,
  ganttHtml,
  machine,
  plan,
  readHardware,
  readPipeline,
  renderPlans,
} from '../../src/deploy/index.js'

function load(name: string, edit: (text: string) => string = (text) => text) {
  const text = edit(readFileSync(`examples/pipelines/${name}.yaml`, 'utf8'))
  return readPipeline(text, `${name}.yaml`)
}

function messageOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (isHorizonError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'nothing was thrown'
}

test('a Pareto front is sorted, undominated, and each point says why', () => {
  const { graph } = load('worldplay')
  const { plans } = plan(graph, machine({ gpus: 6, hardware: 'b200' }), { objective: 'pareto' })
  expect(plans.length).toBeGreaterThan(1)
  for (const [index, one] of plans.entries()) {
    expect(one.why).toContain('period')
    const next = plans[index + 1]
    if (next === undefined) continue
    expect(next.latencyMs).toBeGreaterThan(one.latencyMs)
    expect(next.ratePerSec).toBeGreaterThan(one.ratePerSec)
  }
  expect(renderPlans(graph, { plans, others: [] })).toContain('frames/s')
})

test('a rate floor bends the latency plan, and a floor out of reach names the nearest', () => {
  const { graph } = load('worldplay')
  const gpus = machine({ gpus: 6, hardware: 'b200' })
  const free = plan(graph, gpus, { objective: 'latency' }).plans[0]!
  const bent = plan(graph, gpus, { objective: 'latency', minRatePerSec: 40 }).plans[0]!
  expect(free.ratePerSec).toBeLessThan(40)
  expect(bent.ratePerSec).toBeGreaterThanOrEqual(40)
  expect(bent.latencyMs).toBeGreaterThan(free.latencyMs)
  const none = plan(graph, gpus, { objective: 'latency', minRatePerSec: 400 })
  expect(none.plans).toHaveLength(0)
  expect(none.missing!.kind).toBe('rate')
  expect(none.missing!.text).toContain('44.32')
})

test('when memory does not hold it, the nearest placement, the GiB missing and the budget that would do are named', () => {
  const { graph } = load('face-to-face-agent')
  const { plans, missing } = plan(graph, machine({ gpus: 1, hardware: 'b200' }), {
    objective: 'rate',
  })
  expect(plans).toHaveLength(0)
  expect(missing!.kind).toBe('memory')
  expect(missing!.shortGiB[0]).toBeGreaterThan(0)
  expect(missing!.gpus).toBe(2)
})

test('a budget that cannot hold a node is an error with the node and its line', () => {
  const { graph, locate } = load('worldplay')
  const small = machine({ gpus: 2, hardware: 'b200', memoryGiB: 20 })
  expect(messageOf(() => plan(graph, small, { objective: 'rate', locate }))).toBe(
    'ERR_DEPLOY_BUDGET worldplay.yaml:13: the budget cannot hold node dit: 1 x b200 needs 31.45 GiB per GPU, a GPU has 20; 2 x b200 needs 27.73 GiB per GPU, a GPU has 20; 4 x b200 needs 4 GPUs, the budget has 2',
  )
})

test('missing times and unknown hardware are errors with the node and its line', () => {
  const bare = load('worldplay', (text) =>
    text.replace(/ {4}timesMs:\n {6}b200.*\n {6}mi355x.*\n/, ''),
  )
  expect(
    messageOf(() =>
      plan(bare.graph, machine({ gpus: 2 }), { objective: 'rate', locate: bare.locate }),
    ),
  ).toContain('ERR_DEPLOY_TIME_MISSING worldplay.yaml:13: node dit has no times')
  const { graph, locate } = load('worldplay')
  expect(
    messageOf(() =>
      plan(graph, machine({ gpus: 2, hardware: 'h100' }), { objective: 'rate', locate }),
    ),
  ).toContain(
    "worldplay.yaml:18: node dit has no time on hardware 'h100'; there are times for: b200, mi355x",
  )
})

test.each([
  [{ gpus: 0 }, 'ERR_DEPLOY_BUDGET'],
  [{ gpus: 2.5 }, 'ERR_DEPLOY_BUDGET'],
  [{ gpus: 4, hardware: 'b200:2' }, 'ERR_DEPLOY_HARDWARE'],
  [{ gpus: 4, hardware: 'b200:x,h100:2' }, 'ERR_DEPLOY_HARDWARE'],
])('machine(%j) is refused', (options, code) => {
  expect(messageOf(() => machine(options))).toContain(code)
})

test.each(['h20', 'gb10', 'H100', 'h1oo'])(
  'hardware %s is unknown, so nothing is promised',
  (hardware) => {
    const said = messageOf(() => machine({ gpus: 1, hardware }))
    expect(said).toContain('ERR_DEPLOY_HARDWARE')
    expect(said).toContain('a100, h100, h200, b200, mi355x, rtxpro6000')
    if (/^h1/i.test(hardware)) expect(said).toContain("Did you mean 'h100'?")
  },
)

test('a file describes other kinds; where the host shares the memory, stages get what it leaves', () => {
  const kinds = readHardware(
    '{ gb10: { memoryGiB: 119, gibPerSecond: 20, hostGiB: 35 } }',
    'h.yaml',
  )
  const { gpus } = machine({ gpus: 1, hardware: 'gb10', kinds })
  expect(gpus[0]).toEqual({ hardware: 'gb10', memoryGiB: 84, totalGiB: 119, host: 0 })
  expect(messageOf(() => readHardware('{ gb10: { memoryGiB: -1 } }', 'h.yaml'))).toContain(
    'h.yaml: gb10.memoryGiB',
  )
})

test('heterogeneous GPUs: each node goes to the kind that serves the objective', () => {
  const { graph } = readPipeline(`
name: two-kinds
nodes:
  a: { timesMs: { fast: { 1: 10 }, slow: { 1: 40 } } }
  b: { timesMs: { fast: { 1: 12 }, slow: { 1: 14 } } }
edges: [{ from: a, to: b, mode: streaming, transferMs: 1 }]
entries: [a]
outputs: [{ node: b }]
`)
  const best = plan(graph, machine({ gpus: 2, hardware: 'fast:1,slow:1', memoryGiB: 80 }), {
    objective: 'rate',
  }).plans[0]!
  expect(best.placement).toEqual({ a: [0], b: [1] })
  expect(best.periodMs).toBe(14)
  expect(best.optimal).toBe(true)
})

test('the same seed gives the same plan, byte for byte', () => {
  const { graph } = load('face-to-face-agent')
  const gpus = machine({ gpus: 4, hardware: 'b200' })
  const once = (): string =>
    JSON.stringify(plan(graph, gpus, { objective: 'pareto', nodes: 5000, seed: 7 }))
  expect(once()).toBe(once())
})

test('a search cut short says so: a gap instead of a proof, and the bound holds', () => {
  const { graph } = load('face-to-face-agent')
  const gpus = machine({ gpus: 8, hardware: 'b200' })
  const full = plan(graph, gpus, { objective: 'rate' }).plans[0]!
  const cut = plan(graph, gpus, { objective: 'rate', nodes: 40, beamWidth: 1 }).plans[0]!
  expect(full.optimal).toBe(true)
  expect(cut.lowerMs).toBeLessThanOrEqual(full.periodMs * (1 + 1e-9))
  expect(cut.periodMs).toBeGreaterThanOrEqual(full.periodMs * (1 - 1e-9))
  expect(cut.periodMs).toBeLessThanOrEqual(cut.lowerMs * (1 + cut.gap) * (1 + 1e-9))
})

test('the vLLM-Omni file places stages, splits them, shares memory, and streams where edges stream', () => {
  const { graph } = load('qwen3-omni')
  const gpus = machine({ gpus: 2, hardware: 'b200' })
  const best = plan(graph, gpus, { objective: 'rate' }).plans[0]!
  const files = emitVllmOmni(graph, gpus, best)
  const deploy = parse(files[0]!.text) as {
    pipeline: string
    async_chunk: boolean
    stages: { stage_id: number; devices: string; gpu_memory_utilization: number }[]
  }
  expect(deploy.pipeline).toBe('qwen3_omni_moe')
  expect(deploy.async_chunk).toBe(true)
  expect(deploy.stages.map((stage) => stage.stage_id)).toEqual([0, 1, 2])
  for (const device of ['0', '1']) {
    const used = deploy.stages.filter((stage) => String(stage.devices).split(',').includes(device))
    expect(used.reduce((sum, stage) => sum + stage.gpu_memory_utilization, 0)).toBeLessThanOrEqual(
      0.9 + 1e-9,
    )
  }
  // Two stages share a GPU: the scheduling half gets its configuration, and the engine's name goes before the command.
  const shared = files.filter((file) => file.name.startsWith('horizonserve-g'))
  expect(shared).toHaveLength(1)
  expect(files[0]!.text).toContain('start: HORIZONSERVE_SEGMENT=omni vllm serve')
  const config = parseConfig(parse(shared[0]!.text) as HorizonConfig)
  expect(config.classes.map((spec) => `${spec.name} ${spec.path}`)).toEqual([
    'text short',
    'audio long',
  ])
  const blocking = load('qwen2_5-omni').graph
  const other = plan(blocking, gpus, { objective: 'latency' }).plans[0]!
  expect(parse(emitVllmOmni(blocking, gpus, other)[0]!.text)).toMatchObject({ async_chunk: false })
})

test('plans over several hosts come with one command per stage and a connector that crosses hosts', () => {
  const { graph } = load('qwen3-omni')
  const gpus = machine({ gpus: 4, hardware: 'b200', gpusPerHost: 2 })
  const best = plan(graph, gpus, { objective: 'rate' }).plans[0]!
  const files = emitVllmOmni(graph, gpus, best)
  const launch = files.find((file) => file.name === 'launch.sh')!
  expect(launch.text).toContain('--omni-master-address')
  expect(launch.text.match(/--stage-id/g)).toHaveLength(3)
  expect(launch.text.match(/--headless/g)).toHaveLength(2)
  expect(files[0]!.text).toContain('MooncakeStoreConnector')
})

test('what an engine cannot run is refused by node', () => {
  const { graph } = load('worldplay')
  const gpus = machine({ gpus: 2, hardware: 'b200' })
  const best = plan(graph, gpus, { objective: 'rate' }).plans[0]!
  expect(messageOf(() => emitVllmOmni(graph, gpus, best))).toContain('ERR_DEPLOY_EMIT')
  expect(messageOf(() => emitSglangOmni(graph, gpus, best))).toContain('engines.sglang-omni')
})

test('the sglang-omni file, the Mermaid chart, the Gantt page and the trace say where things stand', () => {
  const { graph } = load('qwen3-omni')
  const gpus = machine({ gpus: 2, hardware: 'b200' })
  const best = plan(graph, gpus, { objective: 'latency' }).plans[0]!
  const omni = parse(emitSglangOmni(graph, gpus, best)[0]!.text) as {
    stages: Record<string, { gpu: unknown }>
  }
  expect(omni.stages.thinker).toEqual({ gpu: [0, 1], tp_size: 2 })
  expect(emitMermaid(graph, best.placement)).toContain('classDef group0')
  const html = ganttHtml(graph, best)
  expect(html).toContain('<svg')
  expect(html).not.toContain('<script')
  const trace = JSON.parse(chromeTrace(graph, best, 3)) as {
    traceEvents: { ph: string; tid: number; ts: number; dur: number }[]
  }
  const bars = trace.traceEvents.filter((event) => event.ph === 'X')
  for (const tid of new Set(bars.map((bar) => bar.tid))) {
    const row = bars.filter((bar) => bar.tid === tid).sort((a, b) => a.ts - b.ts)
    for (let index = 1; index < row.length; index += 1)
      expect(row[index]!.ts).toBeGreaterThanOrEqual(row[index - 1]!.ts + row[index - 1]!.dur - 2)
  }
})
