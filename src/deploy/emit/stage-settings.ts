/**
 * @module
 * What a plan sets on one vLLM-Omni stage, in the engine's own words: devices, degrees, memory, connectors.
 */
import { HorizonError } from '../../core/errors.js'
import type { Machine } from '../bounds/machine.js'
import { isRecord, type Values } from '../import/deploy-file.js'
import { registered } from '../import/registry.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { type EngineStage, edgeBetween, engineHead } from './engine-stages.js'

/** Degrees of a diffusion stage that multiply to its number of GPUs. */
const DIFFUSION_DEGREES = [
  'tensor_parallel_size',
  'ulysses_degree',
  'ring_degree',
  'allgather_degree',
  'cfg_parallel_size',
  'data_parallel_size',
  'pipeline_parallel_size',
]

/**
 * The words for a degree: `tensor_parallel_size` on a language stage; on a diffusion stage one record, `parallel_config`,
 * which the engine takes as a whole. What the file says already for this number of GPUs stays as it is.
 */
export function parallelArgs(
  graph: TaskGraph,
  stage: EngineStage,
  pipeline: string,
  base: Values | undefined,
): Record<string, unknown> {
  const degree = stage.gpus.length
  const kinds = new Set(stage.tasks.flatMap((task) => graph.tasks[task]!.node.parallel))
  const runs = registered(pipeline)?.stages.find(({ id }) => id === stage.id)?.runs
  const diffusion =
    runs === undefined ? kinds.size > 0 && !kinds.has('tensor') : runs === 'diffusion'
  if (!diffusion) {
    const now = Number(base?.tensor_parallel_size ?? 1)
    return now === degree ? {} : { tensor_parallel_size: degree }
  }
  const written = isRecord(base?.parallel_config) ? base.parallel_config : undefined
  const given = { ...pick(base), ...written }
  const product = DIFFUSION_DEGREES.reduce((sum, key) => sum * Number(given[key] ?? 1), 1)
  if (product === degree) return {}
  const word = kinds.has('sequence')
    ? 'ulysses_degree'
    : kinds.has('tensor')
      ? 'tensor_parallel_size'
      : 'vae_patch_parallel_size'
  const rest = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, DIFFUSION_DEGREES.includes(key) ? 1 : value]),
  )
  const sequence = word === 'ulysses_degree' && 'sequence_parallel_size' in rest
  const patches = Math.min(degree, Number(rest.vae_patch_parallel_size ?? 1))
  return {
    parallel_config: {
      ...rest,
      ...('sequence_parallel_size' in rest && { sequence_parallel_size: sequence ? degree : 1 }),
      ...('vae_patch_parallel_size' in rest && { vae_patch_parallel_size: patches }),
      [word]: degree,
    },
  }
}

function pick(base: Values | undefined): Record<string, unknown> {
  return Object.fromEntries(
    DIFFUSION_DEGREES.flatMap((key) =>
      base?.[key] === undefined || base[key] === null ? [] : [[key, base[key]]],
    ),
  )
}

export function hostOf(machine: Machine, stage: EngineStage): number {
  const hosts = new Set(stage.gpus.map((gpu) => machine.gpus[gpu]!.host))
  if (hosts.size === 1) return [...hosts][0]!
  throw new HorizonError('ERR_DEPLOY_EMIT', `stage ${stage.id} spans ${hosts.size} hosts`, {
    expected: 'a group on one host',
    got: `GPUs ${stage.gpus.join(', ')}`,
    hint: 'The engine starts a stage on one host; give fewer GPUs per stage, or place it by hand on a Ray cluster',
  })
}

/** Device numbers as the stage's own host counts them. */
export function localDevices(machine: Machine, stage: EngineStage): string {
  const host = hostOf(machine, stage)
  const first = machine.gpus.findIndex((gpu) => gpu.host === host)
  return stage.gpus.map((gpu) => gpu - first).join(',')
}

/** How stages hand over: through the memory of a host, or through a store that crosses hosts. */
export function connectorSpec(several: boolean): Values {
  return several
    ? {
        name: 'MooncakeStoreConnector',
        extra: {
          host: 'MASTER_ADDRESS',
          metadata_server: 'http://MASTER_ADDRESS:8080/metadata',
          master: 'MASTER_ADDRESS:50051',
        },
      }
    : { name: 'SharedMemoryConnector' }
}

/** Connectors of one stage: on every edge into it, or, where some edges stream, on both ends of those alone. */
export function connectorsOf(
  graph: TaskGraph,
  stages: readonly EngineStage[],
  stage: EngineStage,
  connector: string,
  streamingOnly: boolean,
): Record<string, unknown> {
  const known = registered(engineHead(graph, 'vllm-omni').pipeline)
  const joined = (from: EngineStage, to: EngineStage): boolean => {
    const mode = from === to ? undefined : edgeBetween(graph, from, to)
    if (mode === undefined) return false
    const streams =
      known === undefined || known.stages.some(({ id, streams }) => id === from.id && streams)
    return !streamingOnly || (mode === 'streaming' && streams)
  }
  const sources = stages.filter((other) => joined(other, stage))
  const targets = streamingOnly ? stages.filter((other) => joined(stage, other)) : []
  return {
    ...(targets.length > 0 && {
      output_connectors: Object.fromEntries(targets.map(({ id }) => [`to_stage_${id}`, connector])),
    }),
    ...(sources.length > 0 && {
      input_connectors: Object.fromEntries(
        sources.map(({ id }) => [`from_stage_${id}`, connector]),
      ),
    }),
  }
}
