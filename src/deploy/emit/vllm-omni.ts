/**
 * @module
 * A vLLM-Omni deploy file (schema of 0.30.0: flat `stages`, `devices`, `async_chunk`, connectors). The topology of a
 * pipeline is the engine's; this says where its stages stand, how they split, and how memory is shared. For plans over
 * several hosts, also the commands of the engine's own distributed runtime: nothing here starts a process elsewhere.
 */
import { stringify } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { Machine } from '../bounds/machine.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement, ms } from '../search/explain.js'
import type { Plan } from '../search/plan.js'
import {
  type EmittedFile,
  type EngineStage,
  edgeBetween,
  engineArgsOf,
  engineHead,
  engineStages,
} from './engine-stages.js'
import { emitHorizonConfigs } from './horizon-config.js'
import { memoryShares } from './memory-shares.js'

const ENGINE = 'vllm-omni'
const SHARED_MEMORY = 'shared_memory'
const MOONCAKE = 'mooncake_store'
/** Name of the engine, under which the Python package and `horizonserve run --segment` meet (`python/horizonserve`). */
const SEGMENT = 'HORIZONSERVE_SEGMENT=omni'

/** The deploy file first, then a launch script where one is needed, then one configuration per shared GPU. */
export function emitVllmOmni(graph: TaskGraph, machine: Machine, plan: Plan): EmittedFile[] {
  const head = engineHead(graph, ENGINE)
  const stages = engineStages(graph, plan, ENGINE)
  const hosts = stages.map((stage) => hostOf(machine, stage))
  const shares = memoryShares(graph, machine, plan, stages)
  const streams = streaming(graph, stages)
  const several = new Set(hosts).size > 1
  const connector = several ? MOONCAKE : SHARED_MEMORY
  const file = {
    pipeline: head.pipeline,
    async_chunk: streams.some((value) => value),
    connectors: {
      [connector]: several
        ? {
            name: 'MooncakeStoreConnector',
            extra: {
              host: 'MASTER_ADDRESS',
              metadata_server: 'http://MASTER_ADDRESS:8080/metadata',
              master: 'MASTER_ADDRESS:50051',
            },
          }
        : { name: 'SharedMemoryConnector' },
    },
    stages: stages.map((stage, index) => ({
      stage_id: stage.id,
      devices: localDevices(machine, stage).join(','),
      ...parallelArgs(graph, stage),
      gpu_memory_utilization: shares[index],
      ...(streams.some((value) => value) && !streams[index] && { async_chunk: false }),
      ...inputsOf(graph, stages, stage, connector),
      ...engineArgsOf(graph, stage),
    })),
  }
  const configs = emitHorizonConfigs(graph, machine, plan, stages)
  const shared = stages.filter((stage) => configs.some((config) => config.stage === stage.id))
  const command = serveCommand(head.model ?? 'MODEL', shared)
  const notes = [
    `${graph.pipeline.name} on ${machine.gpus.length} GPUs: ${describePlacement(plan.placement)}`,
    `period ${ms(plan.periodMs)}, first output ${ms(plan.latencyMs)}, by ${plan.optimal ? 'an optimal plan' : `a plan at most ${(plan.gap * 100).toFixed(1)} % from optimal`}`,
    ...(several ? ['several hosts: start the stages with launch.sh'] : [`start: ${command}`]),
  ]
  const text = `${notes.map((line) => `# ${line}`).join('\n')}\n${stringify(file, { lineWidth: 0 })}`
  return [
    { name: 'deploy.yaml', text },
    ...(several ? [launchScript(head.model ?? 'MODEL', stages, hosts, shared)] : []),
    ...configs.map(({ name, text: body }) => ({ name, text: body })),
  ]
}

/** Per stage, whether it hands over chunk by chunk. The engine wants one mode on both ends of an edge. */
function streaming(graph: TaskGraph, stages: readonly EngineStage[]): boolean[] {
  const modes = stages.map((stage) =>
    stages.flatMap((other) => {
      const found = [edgeBetween(graph, stage, other), edgeBetween(graph, other, stage)]
      return other === stage ? [] : found.filter((mode) => mode !== undefined)
    }),
  )
  modes.forEach((list, index) => {
    if (new Set(list).size > 1)
      throw new HorizonError(
        'ERR_DEPLOY_EMIT',
        `stage ${stages[index]!.id} has streaming and blocking edges; vLLM-Omni runs a stage in one mode`,
      )
  })
  return modes.map((list) => list[0] === 'streaming')
}

function inputsOf(
  graph: TaskGraph,
  stages: readonly EngineStage[],
  stage: EngineStage,
  connector: string,
): Record<string, unknown> {
  const sources = stages.filter(
    (other) => other !== stage && edgeBetween(graph, other, stage) !== undefined,
  )
  if (sources.length === 0) return {}
  return {
    input_connectors: Object.fromEntries(
      sources.map((other) => [`from_stage_${other.id}`, connector]),
    ),
  }
}

/** The engine's own words for a degree: tensor parallel for language models, Ulysses and tiles for diffusion. */
function parallelArgs(graph: TaskGraph, stage: EngineStage): Record<string, number> {
  const degree = stage.gpus.length
  if (degree === 1) return {}
  const kinds = new Set(stage.tasks.flatMap((task) => graph.tasks[task]!.node.parallel))
  if (kinds.has('tensor')) return { tensor_parallel_size: degree }
  return kinds.has('sequence') ? { ulysses_degree: degree } : { vae_patch_parallel_size: degree }
}

function hostOf(machine: Machine, stage: EngineStage): number {
  const hosts = new Set(stage.gpus.map((gpu) => machine.gpus[gpu]!.host))
  if (hosts.size === 1) return [...hosts][0]!
  throw new HorizonError('ERR_DEPLOY_EMIT', `stage ${stage.id} spans ${hosts.size} hosts`, {
    expected: 'a group on one host',
    got: `GPUs ${stage.gpus.join(', ')}`,
    hint: 'The engine starts a stage on one host; give fewer GPUs per stage, or place it by hand on a Ray cluster',
  })
}

/** Device numbers as the stage's own host counts them. */
function localDevices(machine: Machine, stage: EngineStage): number[] {
  const host = hostOf(machine, stage)
  const first = machine.gpus.findIndex((gpu) => gpu.host === host)
  return stage.gpus.map((gpu) => gpu - first)
}

/** What brings the controller's scheduler in: the Python package looks for this name in every stage's process. */
function segment(shared: readonly EngineStage[]): string {
  return shared.length === 0 ? '' : `${SEGMENT} `
}

function serveCommand(model: string, shared: readonly EngineStage[]): string {
  return `${segment(shared)}vllm serve ${model} --omni --deploy-config deploy.yaml`
}

/** One command per stage; the stage with the entry carries the API server, the others run headless. */
function launchScript(
  model: string,
  stages: readonly EngineStage[],
  hosts: readonly number[],
  shared: readonly EngineStage[],
): EmittedFile {
  const lines = [
    '#!/usr/bin/env bash',
    '# One command per stage, each to be run on the host it names. Set MASTER_ADDRESS to the address of the first host.',
    '# Copy deploy.yaml to every host first. Alternatively, on a Ray cluster: vllm serve ... --worker-backend ray --ray-address ADDRESS',
    'set -euo pipefail',
    `: "\${MASTER_ADDRESS:?address of host ${hosts[0]}}" "\${MASTER_PORT:=26000}"`,
    'case "$' + '{1:?stage number}" in',
  ]
  stages.forEach((stage, index) => {
    const role = index === 0 ? '' : ' --headless'
    lines.push(
      `  ${stage.id}) # on host ${hosts[index]}`,
      `    ${segment(shared.filter((other) => other === stage))}exec vllm serve ${model} --omni --deploy-config deploy.yaml --stage-id ${stage.id}${role} --omni-master-address "$MASTER_ADDRESS" --omni-master-port "$MASTER_PORT" ;;`,
    )
  })
  lines.push('  *) echo "no stage $1" >&2; exit 2 ;;', 'esac')
  return { name: 'launch.sh', text: `${lines.join('\n')}\n` }
}
