/**
 * @module
 * Where a plan puts several stages on one GPU, the scheduling half of the product takes over: for each such GPU a
 * configuration with a short path that ends at the shared stage and a long path that goes on downstream.
 */
import { stringify } from 'yaml'
import type { Machine } from '../bounds/machine.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'
import type { EmittedFile, EngineStage } from './engine-stages.js'

export interface HorizonConfigFile extends EmittedFile {
  /** The stage whose queue becomes a view: the first of those on the GPU. */
  readonly stage: number
}

/** One file per GPU that holds at least two stages; GPUs with the same stages share one. */
export function emitHorizonConfigs(
  graph: TaskGraph,
  machine: Machine,
  plan: Plan,
  stages: readonly EngineStage[],
): HorizonConfigFile[] {
  const files = new Map<string, HorizonConfigFile>()
  machine.gpus.forEach((_, gpu) => {
    const here = stages.filter((stage) => stage.gpus.includes(gpu))
    const [shared, ...rest] = here
    if (shared === undefined || rest.length === 0) return
    const key = here.map((stage) => stage.id).join('-')
    if (files.has(key)) return
    const sharedMs = timeOf(plan, shared)
    const downstreamMs = rest.reduce((sum, stage) => sum + timeOf(plan, stage), 0)
    const output = /frame|image|video/.test(graph.pipeline.unit) ? 'image' : 'audio'
    // Alone on the GPU, the long path takes all it needs up to the first output; the SLO is five times that, as in the paper.
    const config = {
      classes: {
        text: { output: 'text', soloP95Ms: round(sharedMs) },
        [output]: { output, soloP95Ms: round(sharedMs + downstreamMs) },
      },
      profile: {
        text: { shared: { fixedMs: round(sharedMs) } },
        [output]: {
          shared: { fixedMs: round(sharedMs) },
          downstream: { fixedMs: round(downstreamMs) },
        },
      },
    }
    const names = here.map((stage) => `stage ${stage.id}`).join(', ')
    const text = [
      `# g${gpu} holds ${names}: stage ${shared.id} is shared, the others are downstream.`,
      '# Times are those of the pipeline file; put measured ones here. The ladder of SM counts depends on the device:',
      '# `horizonserve calibrate` measures it.',
      stringify(config),
    ].join('\n')
    files.set(key, { name: `horizonserve-g${gpu}.yaml`, text, stage: shared.id })
  })
  return [...files.values()]
}

/** Time of a stage up to its part of the first output, in ms. */
function timeOf(plan: Plan, stage: EngineStage): number {
  return stage.tasks.reduce((sum, task) => sum + plan.timed.tauMs[task]!, 0)
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
