import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { type HorizonConfig, parseConfig } from '../../src/config.js'
import {
  emitVllmOmni,
  HARDWARE,
  importDeploy,
  machine,
  plan,
  readDeployFile,
  readPipeline,
} from '../../src/deploy/index.js'

type Objective = 'latency' | 'rate'

function emit(name: string, gpus: number, objective: Objective = 'latency') {
  const { graph } = readPipeline(readFileSync(`test/deploy/pipelines/${name}`, 'utf8'), name)
  const budget = machine({ gpus, hardware: 'h100' })
  const best = plan(graph, budget, { objective }).plans[0]!
  const files = emitVllmOmni(graph, budget, best)
  const deploy = parse(files[0]!.text) as {
    async_chunk: boolean
    stages: Record<string, unknown>[]
  }
  const config = files.find((file) => file.name === 'horizonserve-g0.yaml')
  return { deploy, config: config && (parse(config.text) as HorizonConfig), files }
}

test('whole hand-overs first and streaming after it: connectors on the streaming edge alone', () => {
  const { deploy, config } = emit('aura.yaml', 1)
  expect(deploy.async_chunk).toBe(true)
  const [asr, vl, talker, code2wav] = deploy.stages
  for (const stage of [asr!, vl!]) {
    expect(stage).not.toHaveProperty('async_chunk')
    expect(stage).not.toHaveProperty('input_connectors')
    expect(stage).not.toHaveProperty('output_connectors')
  }
  expect(talker).toMatchObject({ output_connectors: { to_stage_3: 'shared_memory' } })
  expect(talker).not.toHaveProperty('input_connectors')
  expect(code2wav).toMatchObject({ input_connectors: { from_stage_2: 'shared_memory' } })
  // Text leaves after the second stage, not after the first one on the GPU.
  expect(config!.classes.text).toMatchObject({ soloP95Ms: 360 })
  expect(config!.classes.audio).toMatchObject({ soloP95Ms: 535 })
  expect(parseConfig(config!).classes).toHaveLength(2)
})

test('a stage that stands on another GPU is in the times of the path', () => {
  const { config } = emit('split-over-gpus.yaml', 2)
  expect(config!.classes.audio).toMatchObject({ soloP95Ms: 5400 })
  expect(config!.profile.audio).toMatchObject({
    shared: { fixedMs: 1900 },
    downstream: { fixedMs: 3500 },
    downstreamBusy: { fixedMs: 900 },
  })
  parseConfig(config!)
})

test('the class of a picture model is image, with no unit to say so', () => {
  const { config } = emit('picture.yaml', 1)
  expect(Object.keys(config!.classes)).toEqual(['text', 'image'])
})

test('no memory share is below what the plan put on the GPU', () => {
  const text = (gib: number) => `
name: full
unit: seconds of audio
nodes:
  a: { kind: engine, engine: vllm-omni, stage: 0, memoryGiB: ${gib}, timesMs: 10 }
  b: { kind: engine, engine: vllm-omni, stage: 1, memoryGiB: 4, timesMs: 10 }
edges: [{ from: a, to: b, mode: streaming }]
entries: [a]
outputs: [{ node: b }]
engines: { vllm-omni: { pipeline: mine, model: M } }
`
  for (const gib of [20, 60, 68.45]) {
    const { graph } = readPipeline(text(gib))
    const budget = machine({ gpus: 1, hardware: 'h100' })
    const best = plan(graph, budget, { objective: 'rate' }).plans[0]!
    const { stages } = parse(emitVllmOmni(graph, budget, best)[0]!.text) as {
      stages: { gpu_memory_utilization: number }[]
    }
    const [a, b] = stages.map((stage) => stage.gpu_memory_utilization * HARDWARE.h100!.memoryGiB)
    expect(a).toBeGreaterThanOrEqual(gib)
    expect(b).toBeGreaterThanOrEqual(4)
    expect(a! + b!).toBeLessThanOrEqual(HARDWARE.h100!.memoryGiB)
  }
})

test('where the host shares the memory, stages share what it leaves', () => {
  const kinds = { gb10: { memoryGiB: 120, gibPerSecond: 20, hostGiB: 40 } }
  const { graph } = readPipeline(readFileSync('test/deploy/pipelines/picture.yaml', 'utf8'))
  const budget = machine({ gpus: 1, hardware: 'gb10', kinds })
  const best = plan(graph, budget, { objective: 'rate' }).plans[0]!
  const { stages } = parse(emitVllmOmni(graph, budget, best)[0]!.text) as {
    stages: { gpu_memory_utilization: number }[]
  }
  const sum = stages.reduce((total, stage) => total + stage.gpu_memory_utilization, 0)
  expect(sum).toBeLessThanOrEqual(80 / 120 + 1e-9)
  expect(sum).toBeGreaterThan(0.65)
})

const BASE = `
async_chunk: true
connectors:
  shm: { name: SharedMemoryConnector, extra: { initial_codec_chunk_frames: 4 } }
stages:
  - { stage_id: 0, devices: "0", gpu_memory_utilization: 0.9, default_sampling_params: { temperature: 0 } }
  - { stage_id: 1, devices: "1", gpu_memory_utilization: 0.6, input_connectors: { from_stage_0: shm } }
  - { stage_id: 2, devices: "1", gpu_memory_utilization: 0.1, enforce_eager: false, input_connectors: { from_stage_1: shm } }
platforms:
  cuda: { stages: [{ stage_id: 1, gpu_memory_utilization: 0.5, enforce_eager: true }] }
`
const OVER = `
base_config: qwen3_omni_moe.yaml
stages: [{ stage_id: 0, default_sampling_params: { top_k: 5 } }]
`

function imported() {
  const folder = mkdtempSync(join(tmpdir(), 'horizon-import-'))
  writeFileSync(join(folder, 'qwen3_omni_moe.yaml'), BASE)
  writeFileSync(join(folder, 'mine.yaml'), OVER)
  const base = readDeployFile(join(folder, 'mine.yaml'), (named, from) => {
    const path = from === undefined ? named : join(folder, named)
    return { path, text: readFileSync(path, 'utf8') }
  })
  return { base, made: importDeploy(base, { base: 'mine.yaml', hardware: HARDWARE.h100! }) }
}

test('a deploy file becomes a pipeline of the registered shape, and its name says which', () => {
  const { base, made } = imported()
  expect(made.pipeline).toBe('qwen3_omni_moe')
  expect(base.stages[0]).toMatchObject({ default_sampling_params: { temperature: 0, top_k: 5 } })
  const { graph } = readPipeline(made.text)
  expect(graph.tasks.map((task) => task.path)).toEqual(['thinker', 'talker', 'code2wav'])
  expect(graph.dependences.filter((edge) => edge.cause === 'data').map(({ mode }) => mode)).toEqual(
    ['streaming', 'streaming'],
  )
  expect(graph.pipeline.engines['vllm-omni']).toMatchObject({ base: 'mine.yaml' })
  expect(() => plan(graph, machine({ gpus: 2 }), { objective: 'rate' })).toThrow('no times')
})

test('a plan that starts from a file writes what it changes and nothing else', () => {
  const { base, made } = imported()
  const timed = made.text.replaceAll('    parallel:', '    timesMs: 10\n    parallel:')
  const { graph } = readPipeline(timed)
  const budget = machine({ gpus: 3, hardware: 'h100' })
  const best = plan(graph, budget, { objective: 'rate' }).plans[0]!
  const files = emitVllmOmni(graph, budget, best, base)
  const over = parse(files[0]!.text) as Record<string, unknown> & { stages: object[] }
  expect(over.base_config).toBe('mine.yaml')
  expect(Object.keys(over).sort()).toEqual(['base_config', 'platforms', 'stages'])
  const keys = new Set(over.stages.flatMap((stage) => Object.keys(stage)))
  expect(
    [...keys].every((key) => ['stage_id', 'devices', 'gpu_memory_utilization'].includes(key)),
  ).toBe(true)
  // The engine applies a platform's section last.
  expect(JSON.stringify(over.platforms)).toContain('gpu_memory_utilization')
  expect(files[0]!.text).toContain('all others kept')
  expect(files.map((file) => file.name)).toEqual(
    expect.arrayContaining(['deploy.yaml', 'mine.yaml', 'qwen3_omni_moe.yaml']),
  )
})

test('a deploy file given where a pipeline is wanted is called by its name', () => {
  const text = 'async_chunk: true\nstages:\n  - stage_id: 0\n    devices: "0"\n'
  expect(() => readPipeline(text, 'deploy.yaml')).toThrow(
    /deploy\.yaml:1: this is a vLLM-Omni deploy file, not a pipeline; 'horizonserve import deploy\.yaml'/,
  )
})
