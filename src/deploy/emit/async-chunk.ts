/**
 * @module
 * Which stages hand over chunk by chunk. In vLLM-Omni 0.30.0 that is one switch for the pipeline and an opt-out per stage;
 * both ends of an edge must agree, but only where the producer can stream at all. A producer that cannot hands over whole
 * whatever the switch says, so nothing needs to be said of it.
 */
import { HorizonError } from '../../core/errors.js'
import { registered } from '../import/registry.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { type EngineStage, edgeBetween } from './engine-stages.js'

export interface AsyncChunk {
  /** The pipeline's switch. */
  readonly on: boolean
  /** By stage: what it must be; undefined where it makes no difference. */
  readonly stages: readonly (boolean | undefined)[]
  /** Edges that the plan streams and the engine hands over whole, as `0 -> 1`. */
  readonly whole: readonly string[]
}

export function asyncChunk(
  graph: TaskGraph,
  stages: readonly EngineStage[],
  pipeline: string,
): AsyncChunk {
  const known = registered(pipeline)
  const streams = (id: number): boolean =>
    known?.stages.find((stage) => stage.id === id)?.streams ?? known === undefined
  const wants = stages.map(() => new Set<boolean>())
  const whole: string[] = []
  let on = false
  stages.forEach((from, a) => {
    stages.forEach((to, b) => {
      const mode = a === b ? undefined : edgeBetween(graph, from, to)
      if (mode === undefined) return
      if (!streams(from.id)) {
        if (mode === 'streaming') whole.push(`${from.id} -> ${to.id}`)
        return
      }
      on ||= mode === 'streaming'
      wants[a]!.add(mode === 'streaming')
      wants[b]!.add(mode === 'streaming')
    })
  })
  stages.forEach((stage, index) => {
    // A whole hand-over into a stage that streams on: a producer the registry does not know may be one that cannot stream.
    if (wants[index]!.size < 2) return
    if (known === undefined) {
      wants[index]!.delete(false)
      return
    }
    throw new HorizonError(
      'ERR_DEPLOY_EMIT',
      `stage ${stage.id} has streaming and blocking edges from stages that can stream; the engine's check of async_chunk along connector edges refuses that`,
      { hint: 'Make all of these edges streaming, or all blocking' },
    )
  })
  return { on, stages: wants.map((set) => (set.size === 0 ? undefined : [...set][0])), whole }
}
