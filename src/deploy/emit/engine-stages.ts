/**
 * @module
 * The stages of a placed pipeline as an engine counts them: tasks with one stage number, on one group.
 */
import { HorizonError } from '../../core/errors.js'
import { sameGroup } from '../bounds/placement.js'
import type { EngineHead, EngineNode } from '../ir/pipeline.js'
import type { TaskGraph } from '../ir/task-graph.js'
import type { Plan } from '../search/plan.js'

export interface EngineStage {
  readonly id: number
  readonly tasks: readonly number[]
  readonly gpus: readonly number[]
}

/** A file to write; `name` is relative to where the user wants it. */
export interface EmittedFile {
  readonly name: string
  readonly text: string
}

/** Stages by number. Refuses tasks without one: an engine cannot run what is not in its pipeline. */
export function engineStages(graph: TaskGraph, plan: Plan, engine: string): EngineStage[] {
  const stages = new Map<number, number[]>()
  graph.tasks.forEach(({ path, node }, index) => {
    if (node.kind !== 'engine' || node.engine !== engine || node.stage === undefined)
      throw new HorizonError('ERR_DEPLOY_EMIT', `node ${path} is no stage of ${engine}`, {
        field: path,
        expected: `kind: engine, engine: ${engine} and a stage number`,
        got:
          node.kind === 'engine'
            ? `engine ${node.engine}, stage ${node.stage ?? 'none'}`
            : node.kind,
        hint: `Only pipelines that ${engine} itself knows can be handed to it`,
      })
    stages.set(node.stage, [...(stages.get(node.stage) ?? []), index])
  })
  return [...stages]
    .sort((a, b) => a[0] - b[0])
    .map(([id, tasks]) => {
      const groups = tasks.map((task) => plan.placement[graph.tasks[task]!.path] ?? [])
      if (!groups.every((gpus) => sameGroup(gpus, groups[0]!)))
        throw new HorizonError(
          'ERR_DEPLOY_EMIT',
          `stage ${id} of ${engine} stands on several groups: ${tasks.map((task) => graph.tasks[task]!.path).join(', ')}`,
          { hint: 'Let its nodes share a pinned state, so that they are placed together' },
        )
      return { id, tasks, gpus: groups[0]! }
    })
}

/** Settings of all nodes of a stage, later ones over earlier ones. */
export function engineArgsOf(graph: TaskGraph, stage: EngineStage): Record<string, unknown> {
  return Object.assign(
    {},
    ...stage.tasks.map((task) => (graph.tasks[task]!.node as EngineNode).engineArgs ?? {}),
  ) as Record<string, unknown>
}

/** How stages hand over: `streaming`, `blocking`, or undefined where no edge joins them. */
export function edgeBetween(
  graph: TaskGraph,
  from: EngineStage,
  to: EngineStage,
): 'streaming' | 'blocking' | undefined {
  const edges = graph.dependences.filter(
    (edge) => edge.cause === 'data' && from.tasks.includes(edge.from) && to.tasks.includes(edge.to),
  )
  if (edges.length === 0) return undefined
  return edges.every((edge) => edge.mode === 'streaming') ? 'streaming' : 'blocking'
}

/** The entry of `engines` for this engine. */
export function engineHead(graph: TaskGraph, engine: string): EngineHead {
  const head = graph.pipeline.engines[engine]
  if (head === undefined)
    throw new HorizonError(
      'ERR_DEPLOY_EMIT',
      `pipeline ${graph.pipeline.name} does not say what it is in ${engine}`,
      {
        field: `engines.${engine}`,
        expected: '{ pipeline: name in the registry, model: checkpoint }',
        hint: `Only pipelines that ${engine} knows can be emitted for it; 'mermaid' works for all`,
      },
    )
  return head
}
