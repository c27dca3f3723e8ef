/**
 * @module
 * A pipeline file from a deploy file: the shape that the engine's registry declares, the stages of the file, what each
 * holds of a GPU. Times are not in a deploy file; they stay open until they are measured.
 */
import { stringify } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { HardwareKind } from '../bounds/machine.js'
import { type DeployFile, isRecord, type Values } from './deploy-file.js'
import {
  type RegisteredPipeline,
  registered,
  VLLM_OMNI_PIPELINES,
  VLLM_OMNI_VERSION,
} from './registry.js'

export interface ImportOptions {
  /** Path by which the pipeline finds the deploy file again, relative to the pipeline. */
  readonly base: string
  /** Name in the engine's registry; else what the file says, else what its name says. */
  readonly pipeline?: string
  /** Checkpoint, for the serve command. */
  readonly model?: string
  /** The kind of GPU the shares of the file were made for: then they become GiB. */
  readonly hardware?: HardwareKind
}

export interface Imported {
  readonly text: string
  readonly pipeline: string
  /** What the file leaves open, one sentence each. */
  readonly notes: readonly string[]
}

export function importDeploy(deploy: DeployFile, options: ImportOptions): Imported {
  const notes: string[] = []
  if (deploy.stages.length === 0)
    throw new HorizonError('ERR_DEPLOY_IMPORT', `${deploy.files[0]!.name} places no stage`, {
      field: 'stages',
      expected: 'at least one stage',
      got: 'none',
    })
  const name = pipelineName(deploy, options.pipeline, notes)
  const shape = registered(name)!
  const nameOf = new Map(shape.stages.map((stage) => [stage.id, nodeName(shape, stage.id)]))
  const asyncOn = (id: number): boolean => {
    const stage = stageOf(deploy, id)
    return (deploy.merged.async_chunk ?? true) === true && stage?.async_chunk !== false
  }
  const nodes: Record<string, unknown> = {}
  for (const { id, runs, output } of shape.stages) {
    const stage = stageOf(deploy, id)
    if (stage === undefined)
      notes.push(`stage ${id} is not in the file; the engine takes its defaults`)
    const degree = degreeOf(stage)
    const share = Number(stage?.gpu_memory_utilization)
    nodes[nameOf.get(id)!] = {
      kind: 'engine',
      engine: 'vllm-omni',
      stage: id,
      ...(output !== undefined && { output: modality(output) }),
      parallel: [runs === 'diffusion' ? 'sequence' : 'tensor'],
      ...(degree > 1 && { description: `${degree} GPUs in the deploy file` }),
      ...(options.hardware !== undefined &&
        share > 0 && { memoryGiB: Math.floor(share * options.hardware.memoryGiB * 10) / 10 }),
    }
    if (Number(stage?.num_replicas ?? 1) > 1)
      notes.push(
        `stage ${id} has ${stage!.num_replicas} replicas; a plan places one group per stage`,
      )
  }
  const edges = shape.stages.flatMap(({ id, from }) =>
    from.map((source) => {
      const streams = shape.stages.find((stage) => stage.id === source)?.streams === true
      const mode = streams && asyncOn(source) && asyncOn(id) ? 'streaming' : 'blocking'
      return { from: nameOf.get(source), to: nameOf.get(id), mode }
    }),
  )
  const read = new Set(shape.stages.flatMap(({ from }) => from))
  const entries = shape.stages
    .filter(({ from }) => from.length === 0)
    .map(({ id }) => nameOf.get(id))
  const last = shape.stages.filter(({ id, output }) => output !== undefined && !read.has(id))
  const outputs = (last.length > 0 ? last : shape.stages.slice(-1)).map(({ id }) => ({
    node: nameOf.get(id),
    ...(last.length > 1 && { chunks: 1 }),
  }))
  notes.push(
    'no times: fill `timesMs` of each node with what was measured, in ms per hardware kind',
  )
  const body = {
    name: name.replaceAll('_', '-'),
    chunksPerBatch: Math.max(1, outputs.length),
    unit: 'answers',
    unitsPerBatch: 1,
    nodes,
    ...(edges.length > 0 && { edges }),
    entries,
    outputs,
    engines: {
      'vllm-omni': {
        pipeline: name,
        ...(options.model !== undefined && { model: options.model }),
        base: options.base,
      },
    },
  }
  const head = [
    `Made from ${deploy.files[0]!.name}; stages as vLLM-Omni ${VLLM_OMNI_VERSION} registers them as ${name}.`,
    ...notes,
  ]
  const text = `${head.map((line) => `# ${line}\n`).join('')}${stringify(body, { lineWidth: 0 })}`
  return { text, pipeline: name, notes }
}

/** GPUs of one replica of a stage, as the file says. */
export function degreeOf(stage: Values | undefined): number {
  const devices = String(stage?.devices ?? '0').split(',').length
  const replicas = Number(stage?.num_replicas ?? 1)
  return devices % replicas === 0 ? devices / replicas : devices
}

/** The modality as a pipeline names it. */
function modality(output: string): string {
  return output === 'actions' ? 'action' : output
}

function stageOf(deploy: DeployFile, id: number): Values | undefined {
  return deploy.stages.find((stage) => stage.stage_id === id)
}

function nodeName(shape: RegisteredPipeline, id: number): string {
  const { name } = shape.stages.find((stage) => stage.id === id)!
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  const twice = shape.stages.filter((stage) => stage.name === name).length > 1
  return `${/^[A-Za-z]/.test(plain) ? '' : 's'}${plain}${twice ? `_${id}` : ''}`
}

/** What the file says, what a file it builds on is the default of, or the registered name that its own name starts with. */
function pipelineName(deploy: DeployFile, asked: string | undefined, notes: string[]): string {
  const known = Object.keys(VLLM_OMNI_PIPELINES)
  const said = asked ?? deploy.merged.pipeline
  if (said !== undefined && said !== null) {
    if (registered(String(said)) !== undefined) return String(said)
    throw new HorizonError(
      'ERR_DEPLOY_IMPORT',
      `vLLM-Omni ${VLLM_OMNI_VERSION} registers no such pipeline`,
      {
        field: asked === undefined ? 'pipeline' : '--pipeline',
        expected: `one of ${known.join(', ')}`,
        got: said,
      },
    )
  }
  const numbers = deploy.stages.map((stage) => Number(stage.stage_id))
  const fits = (name: string): boolean =>
    numbers.every((id) => VLLM_OMNI_PIPELINES[name]!.stages.some((stage) => stage.id === id))
  for (const { name: file } of deploy.files) {
    const stem = file.replace(/\.ya?ml$/, '').replaceAll('-', '_')
    const own = known.filter((name) => VLLM_OMNI_PIPELINES[name]!.deploy === file && fits(name))
    const near = (own.length > 0 ? own : known)
      .map((name) => ({ name, common: common(name, stem), whole: stem.startsWith(name) }))
      .filter(({ name, common }) => (own.length > 0 || common >= 4) && fits(name))
      .sort(
        (a, b) =>
          Number(b.whole) - Number(a.whole) || b.common - a.common || a.name.length - b.name.length,
      )
    if (near[0] === undefined) continue
    notes.push(
      `the file names no pipeline; '${near[0].name}' is taken from the name of ${file}, --pipeline says otherwise`,
    )
    return near[0].name
  }
  throw new HorizonError(
    'ERR_DEPLOY_IMPORT',
    'the file names no pipeline, and its name says none',
    {
      field: '--pipeline',
      expected: `one of ${known.join(', ')}`,
      got: deploy.files[0]!.name,
    },
  )
}

/** Letters that two names begin with alike. */
function common(a: string, b: string): number {
  let count = 0
  while (count < a.length && count < b.length && a[count] === b[count]) count += 1
  return count
}

/** True for what people hand in by mistake: a deploy file where a pipeline is wanted. */
export function looksLikeDeployFile(data: unknown): boolean {
  if (!isRecord(data) || 'nodes' in data) return false
  const stages = data.stages
  return (
    'base_config' in data ||
    'async_chunk' in data ||
    (Array.isArray(stages) && stages.some((stage) => isRecord(stage) && 'stage_id' in stage))
  )
}
