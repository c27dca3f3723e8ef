/**
 * @module
 * An sglang-omni pipeline configuration (0.1.9): the class of the pipeline, the model, and per-stage overrides keyed by
 * stage name. Stages and routes are the engine's; this places them.
 */
import { stringify } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import type { Machine } from '../bounds/machine.js'
import type { EngineNode } from '../ir/pipeline.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { describePlacement } from '../search/explain.js'
import type { Plan } from '../search/plan.js'
import { type EmittedFile, engineHead } from './engine-stages.js'

const ENGINE = 'sglang-omni'

export function emitSglangOmni(graph: TaskGraph, machine: Machine, plan: Plan): EmittedFile[] {
  const head = engineHead(graph, ENGINE)
  const hosts = new Set(
    Object.values(plan.placement)
      .flat()
      .map((gpu) => machine.gpus[gpu]!.host),
  )
  if (hosts.size > 1)
    throw new HorizonError('ERR_DEPLOY_EMIT', 'an sglang-omni pipeline runs on one host', {
      expected: 'a plan on one host',
      got: `a plan on ${hosts.size} hosts`,
    })
  const stages: Record<string, Record<string, unknown>> = {}
  graph.tasks.forEach(({ path, node }) => {
    const gpus = plan.placement[path]
    if (gpus === undefined) return
    const names = node.kind === 'engine' ? (node as EngineNode).stageNames?.[ENGINE] : undefined
    if (names === undefined) {
      // A node without names of its own must stand with one that has them: prefill and decode of one stage.
      const covered = graph.tasks.some((other) => {
        const sameStage =
          other.node.kind === 'engine' && node.kind === 'engine' && other.node.stage === node.stage
        return sameStage && (other.node as EngineNode).stageNames?.[ENGINE] !== undefined
      })
      if (covered) return
      throw new HorizonError('ERR_DEPLOY_EMIT', `node ${path} is no stage of ${ENGINE}`, {
        field: `${path}.stageNames.${ENGINE}`,
        expected: 'the names of the stages that do its work',
        got: 'nothing',
      })
    }
    const parallel = names.at(-1)!
    // Helpers of a stage (encoders) stand on the first GPU of its group; the stage itself is split.
    for (const name of names)
      stages[name] =
        name === parallel && gpus.length > 1
          ? { gpu: [...gpus], tp_size: gpus.length }
          : { gpu: gpus[0]! }
  })
  const file = { config_cls: head.pipeline, model_path: head.model ?? 'MODEL', stages }
  const note = `# ${graph.pipeline.name} on ${machine.gpus.length} GPUs: ${describePlacement(plan.placement)}`
  return [{ name: 'sglang-omni.yaml', text: `${note}\n${stringify(file)}` }]
}
