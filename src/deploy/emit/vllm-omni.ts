/**
 * @module
 * A vLLM-Omni deploy file (schema of 0.30.0: flat `stages`, `devices`, `async_chunk`, connectors). The topology of a
 * pipeline is the engine's; this says where its stages stand, how they split, and how memory is shared. With a file to
 * start from, only what the plan sets differently is written, over a `base_config`. For plans over several hosts, also the
 * commands of the engine's own distributed runtime: nothing here starts a process elsewhere.
 */
import { stringify } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { Machine } from '../bounds/machine.js'
import type { DeployFile, Values } from '../import/deploy-file.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement, ms } from '../search/explain.js'
import type { Plan } from '../search/plan.js'
import { type AsyncChunk, asyncChunk } from './async-chunk.js'
import { overlay } from './deploy-overlay.js'
import {
  type EmittedFile,
  type EngineStage,
  engineArgsOf,
  engineHead,
  engineStages,
} from './engine-stages.js'
import { emitHorizonConfigs } from './horizon-config.js'
import { memoryShares } from './memory-shares.js'
import {
  connectorSpec,
  connectorsOf,
  hostOf,
  localDevices,
  parallelArgs,
} from './stage-settings.js'

const ENGINE = 'vllm-omni'
const SHARED_MEMORY = 'shared_memory'
const MOONCAKE = 'mooncake_store'
/** Name of the engine, under which the Python package and `horizonserve run --segment` meet (`python/horizonserve`). */
const SEGMENT = 'HORIZONSERVE_SEGMENT=omni'

/**
 * The deploy file first, then a launch script where one is needed, then one configuration per shared GPU, then the files
 * that the deploy file builds on. `base` is what `engines.vllm-omni.base` names.
 */
export function emitVllmOmni(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  base?: DeployFile,
): EmittedFile[] {
  const head = engineHead(graph, ENGINE)
  if (head.base !== undefined && base === undefined)
    throw new HorizonError('ERR_DEPLOY_EMIT', 'the deploy file to start from was not given', {
      field: 'engines.vllm-omni.base',
      got: head.base,
      hint: '`horizonserve plan FILE --emit vllm-omni` reads it from where the pipeline file says',
    })
  const stages = engineStages(graph, plan, ENGINE)
  const hosts = stages.map((stage) => hostOf(machine, stage))
  const chunks = asyncChunk(graph, stages, head.pipeline)
  const several = new Set(hosts).size > 1
  const over =
    base &&
    overlay({ graph, machine, plan, stages, chunks, pipeline: head.pipeline, several }, base)
  const file = over?.file ?? wholeFile(graph, machine, plan, stages, chunks, several)
  const configs = emitHorizonConfigs(graph, machine, plan, stages)
  const shared = stages.filter((stage) => configs.some((config) => config.stage === stage.id))
  const command = serveCommand(head.model ?? 'MODEL', shared)
  const notes = [
    `${graph.pipeline.name} on ${machine.gpus.length} GPUs: ${describePlacement(plan.placement)}`,
    `period ${ms(plan.periodMs)}, first output ${ms(plan.latencyMs)}, by ${plan.optimal ? 'an optimal plan' : `a plan at most ${(plan.gap * 100).toFixed(1)} % from optimal`}`,
    ...(several ? ['several hosts: start the stages with launch.sh'] : [`start: ${command}`]),
    ...chunks.whole.map((edge) => `${edge} streams in the plan; the engine hands it over whole`),
    ...(over?.table ?? []),
  ]
  const text = `${notes.map((line) => `# ${line}`).join('\n')}\n${stringify(file, { lineWidth: 0 })}`
  return [
    { name: 'deploy.yaml', text },
    ...(several ? [launchScript(head.model ?? 'MODEL', stages, hosts, shared)] : []),
    ...configs.map(({ name, text: body }) => ({ name, text: body })),
    ...(over?.files ?? []),
  ]
}

function wholeFile(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
  chunks: AsyncChunk,
  several: boolean,
): Values {
  const head = engineHead(graph, ENGINE)
  const shares = memoryShares(graph, machine, plan, stages)
  const connector = several ? MOONCAKE : SHARED_MEMORY
  return {
    pipeline: head.pipeline,
    async_chunk: chunks.on,
    connectors: { [connector]: connectorSpec(several) },
    stages: stages.map((stage, index) => ({
      stage_id: stage.id,
      devices: localDevices(machine, stage),
      ...parallelArgs(graph, stage, head.pipeline, undefined),
      gpu_memory_utilization: shares[index],
      ...(chunks.on && chunks.stages[index] === false && { async_chunk: false }),
      ...connectorsOf(graph, stages, stage, connector, chunks.on && !several),
      ...engineArgsOf(graph, stage),
    })),
  }
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
