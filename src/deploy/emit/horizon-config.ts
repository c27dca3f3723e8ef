/**
 * @module
 * Where a plan puts several stages on one GPU, the scheduling half of the product takes over: for each such GPU a
 * configuration with a short path that ends where text leaves the pipeline, and a long path that goes on downstream.
 */
import { stringify } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { Machine } from '../bounds/machine.js'
import { registered } from '../import/registry.js'
import type { EngineNode } from '../ir/pipeline.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import type { EmittedFile, EngineStage } from './engine-stages.js'

export interface HorizonConfigFile extends EmittedFile {
  /** The stage whose queue becomes a view: where text leaves, or the first of those on the GPU. */
  readonly stage: number
}

/**
 * One file per GPU that holds at least two stages; GPUs with the same stages share one. Times run from the arrival of a
 * request, so what passes on other GPUs is in them; only what the GPU itself must do counts as load on it.
 */
export function emitHorizonConfigs(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
): HorizonConfigFile[] {
  const files = new Map<string, HorizonConfigFile>()
  const endMs = endsOf(graph, plan)
  const endOf = (stage: EngineStage): number => Math.max(...stage.tasks.map((task) => endMs[task]!))
  const last = stages.find((stage) => stage.tasks.includes(graph.outputs[0]!)) ?? stages.at(-1)!
  const text = stages.find((stage) => outputOf(graph, stage) === 'text' && stage !== last)
  machine.gpus.forEach((_, gpu) => {
    const here = stages.filter((stage) => stage.gpus.includes(gpu))
    if (here.length < 2) return
    const key = here.map((stage) => stage.id).join('-')
    if (files.has(key)) return
    // Text leaves after a stage that stands here; elsewhere the first stage here is what all requests meet first.
    const shared = text !== undefined && here.includes(text) ? text : here[0]!
    const rest = here.filter((stage) => endOf(stage) > endOf(shared))
    if (rest.length === 0) return
    const output = outputOf(graph, last) ?? modalityOf(graph, last)
    const sharedMs = endOf(shared)
    const soloMs = Math.max(endOf(last), sharedMs)
    const downstreamMs = soloMs - sharedMs
    const busyMs = rest.reduce((sum, stage) => sum + timeOf(plan, stage), 0)
    const long = output === 'text' ? 'long' : output
    // Alone, the long path takes all it needs up to the first output; the SLO is five times that, as in the paper.
    const config = {
      classes: {
        text: { output: 'text', soloP95Ms: round(sharedMs) },
        [long]: {
          output: kindOf(output),
          ...(output === 'text' && { path: 'long' }),
          soloP95Ms: round(soloMs),
        },
      },
      profile: {
        text: { shared: { fixedMs: round(sharedMs) } },
        [long]: {
          shared: { fixedMs: round(sharedMs) },
          downstream: { fixedMs: round(downstreamMs) },
          ...(round(busyMs) < round(downstreamMs) && {
            downstreamBusy: { fixedMs: round(busyMs) },
          }),
        },
      },
    }
    const names = here.map((stage) => `stage ${stage.id}`).join(', ')
    const lines = [
      `# g${gpu} holds ${names}: the short path ends after stage ${shared.id}, what follows is downstream.`,
      '# Times are those of the pipeline file, from the arrival of a request; put measured ones here. The ladder of SM counts',
      '# depends on the device: `horizonserve calibrate` measures it.',
      stringify(config),
    ]
    files.set(key, { name: `horizonserve-g${gpu}.yaml`, text: lines.join('\n'), stage: shared.id })
  })
  return [...files.values()]
}

/** What leaves the pipeline after a stage: as the node says, or the engine's registry. */
function outputOf(graph: TaskGraph, stage: EngineStage): string | undefined {
  for (const task of stage.tasks) {
    const { output } = graph.tasks[task]!.node as EngineNode
    if (output !== undefined) return output
  }
  const known = registered(graph.pipeline.engines['vllm-omni']?.pipeline)
  const said = known?.stages.find(({ id }) => id === stage.id)?.output
  return said === 'actions' ? 'action' : said
}

/** The modality that a pipeline's unit names, where nothing else says it. */
function modalityOf(graph: TaskGraph, last: EngineStage): string {
  const { unit } = graph.pipeline
  if (/frame|image|video|picture/.test(unit)) return 'image'
  if (/audio|sound|speech|second/.test(unit)) return 'audio'
  throw new HorizonError('ERR_DEPLOY_EMIT', 'the pipeline does not say what it puts out', {
    field: `${graph.tasks[last.tasks[0]!]!.path}.output`,
    expected: 'text, audio, image, video or action',
    got: `unit '${unit}', and a pipeline that the registry of vLLM-Omni does not know`,
  })
}

/** The three kinds that the scheduler tells apart: text and audio count to their first part, all else to its end. */
function kindOf(output: string): 'text' | 'audio' | 'image' {
  return output === 'text' || output === 'audio' ? output : 'image'
}

/** When each task ends with nothing else in the way, after the request is there, in ms. */
function endsOf(graph: TaskGraph, plan: Plan): number[] {
  const { timed } = plan
  const endMs = [...timed.tauMs]
  // Task indices are a topological order.
  for (let task = 0; task < endMs.length; task += 1)
    for (const edge of timed.edges)
      if (edge.lambda === 0 && edge.to === task)
        endMs[task] = Math.max(endMs[task]!, endMs[edge.from]! + edge.kappaMs + timed.tauMs[task]!)
  return endMs.slice(0, graph.tasks.length)
}

/** Time of a stage up to its part of the first output, in ms. */
function timeOf(plan: Plan, stage: EngineStage): number {
  return stage.tasks.reduce((sum, task) => sum + plan.timed.tauMs[task]!, 0)
}

/** Whole milliseconds where they are many: nobody knows a second to the microsecond. */
function round(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 1000) / 1000
}
