/**
 * @module
 * What a plan sets differently from the deploy file it starts from, and nothing else: an overlay over a `base_config`. All
 * that the file says beside placement, degrees, memory and streaming stays as it is, platform sections included.
 */
import type { Machine } from '../bounds/machine.js'
import { type DeployFile, isRecord, type Values } from '../import/deploy-file.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import type { AsyncChunk } from './async-chunk.js'
import { type EmittedFile, type EngineStage, engineArgsOf } from './engine-stages.js'
import { memoryShares, needsDeclared } from './memory-shares.js'
import { connectorSpec, connectorsOf, localDevices, parallelArgs } from './stage-settings.js'

const MOONCAKE = 'mooncake_store'

export interface OverlayInput {
  readonly graph: TaskGraph
  readonly machine: Machine
  readonly plan: Plan
  readonly stages: readonly EngineStage[]
  readonly chunks: AsyncChunk
  /** Name in the engine's registry. */
  readonly pipeline: string
  readonly several: boolean
}

export interface Overlay {
  readonly file: Values
  /** What is kept and what is changed, one line each. */
  readonly table: readonly string[]
  /** Copies of what the file builds on. */
  readonly files: readonly EmittedFile[]
}

const WHY: Readonly<Record<string, string>> = {
  devices: 'placement',
  num_replicas: 'the plan has one group per stage',
  tensor_parallel_size: 'degree',
  parallel_config: 'degree',
  gpu_memory_utilization: 'needs of the stages on the GPU',
  async_chunk: 'streaming edges',
  input_connectors: 'several hosts',
}

export function overlay(input: OverlayInput, base: DeployFile): Overlay {
  const { machine, stages, chunks, several } = input
  const switched = (base.merged.async_chunk ?? true) === true
  const platform = (machine.gpus[0]?.hardware ?? '').startsWith('mi') ? 'rocm' : 'cuda'
  const wanted = settings(input, base, switched)
  const changed: string[] = []
  const onPlatform: Values[] = []
  const list = stages.flatMap((stage, index) => {
    const under = base.stages.find(({ stage_id: id }) => id === stage.id)
    const own = platformStage(base, platform, stage.id)
    const set: [string, unknown][] = []
    const again: [string, unknown][] = []
    for (const [key, value] of Object.entries(wanted[index]!)) {
      const now = under?.[key] ?? (key === 'devices' ? '0' : undefined)
      // A platform's section comes last in the engine, so it must say the same.
      if (own !== undefined && key in own && !same(own[key], value)) again.push([key, value])
      if (same(now, value)) continue
      set.push([key, value])
      const why = WHY[key] ?? 'engineArgs of the pipeline'
      changed.push(
        `changed stage ${stage.id} ${key}: ${show(under?.[key])} -> ${show(value)} (${why})`,
      )
    }
    const head: [string, unknown] = ['stage_id', stage.id]
    if (again.length > 0) onPlatform.push(Object.fromEntries([head, ...again]))
    return set.length > 0 ? [Object.fromEntries([head, ...set])] : []
  })
  const on = chunks.on && !switched
  if (on) changed.push(`changed async_chunk: false -> true (${WHY.async_chunk})`)
  const kept = base.stages.reduce((sum, stage) => sum + Object.keys(stage).length - 1, 0)
  return {
    file: {
      base_config: nameOf(base.files[0]!.name),
      ...(on && { async_chunk: true }),
      ...(several && { connectors: { [MOONCAKE]: connectorSpec(true) } }),
      ...(list.length > 0 && { stages: list }),
      ...(onPlatform.length > 0 && { platforms: { [platform]: { stages: onPlatform } } }),
    },
    table: [
      `starts from ${base.files.map(({ name }) => name).join(' over ')} with ${kept} settings of stages; ${changed.length} changed, all others kept`,
      ...changed,
    ],
    files: base.files.map(({ name, text }) => ({ name: nameOf(name), text })),
  }
}

/** By stage: all that a plan has a say in. */
function settings(input: OverlayInput, base: DeployFile, switched: boolean): Values[] {
  const { graph, machine, plan, stages, chunks, pipeline, several } = input
  const shares = memoryShares(graph, machine, plan, stages)
  const kept = keptShares(stages, base)
  return stages.map((stage, index) => {
    const under = base.stages.find(({ stage_id: id }) => id === stage.id)
    const share = needsDeclared(graph, machine, plan, stages, stage) ? shares[index] : kept[index]
    const mode = chunks.stages[index]
    const now = switched && under?.async_chunk !== false
    return {
      devices: localDevices(machine, stage),
      ...(Number(under?.num_replicas ?? 1) > 1 && { num_replicas: 1 }),
      ...parallelArgs(graph, stage, pipeline, under),
      ...(share !== undefined && { gpu_memory_utilization: share }),
      ...(several && connectorsOf(graph, stages, stage, MOONCAKE, false)),
      ...(mode !== undefined &&
        mode !== now &&
        (under?.async_chunk === false || !mode) && {
          async_chunk: mode,
        }),
      ...engineArgsOf(graph, stage),
    }
  })
}

/** The file's own shares, made smaller where stages that now stand together would ask for more than there is. */
function keptShares(stages: readonly EngineStage[], base: DeployFile): (number | undefined)[] {
  const own = stages.map((stage) => {
    const share = base.stages.find(({ stage_id: id }) => id === stage.id)?.gpu_memory_utilization
    return typeof share === 'number' ? share : undefined
  })
  return stages.map((stage, index) => {
    const share = own[index]
    if (share === undefined) return undefined
    const on = (gpu: number): number =>
      stages.reduce((sum, other, at) => sum + (other.gpus.includes(gpu) ? (own[at] ?? 0) : 0), 0)
    const most = Math.max(...stage.gpus.map(on))
    return most <= 1 + 1e-9 ? share : Math.floor((share / most) * 950) / 1000
  })
}

function platformStage(base: DeployFile, platform: string, id: number): Values | undefined {
  const section = isRecord(base.merged.platforms) ? base.merged.platforms[platform] : undefined
  const list = isRecord(section) && Array.isArray(section.stages) ? section.stages : []
  return list.find((stage): stage is Values => isRecord(stage) && stage.stage_id === id)
}

function same(a: unknown, b: unknown): boolean {
  return (
    JSON.stringify(typeof a === 'number' ? a : (a ?? null)) === JSON.stringify(b ?? null) ||
    String(a) === b
  )
}

function show(value: unknown): string {
  return value === undefined ? 'default' : JSON.stringify(value)
}

/** A file to start from must not be overwritten by the one that is emitted. */
function nameOf(name: string): string {
  return name === 'deploy.yaml' ? 'base-deploy.yaml' : name
}
