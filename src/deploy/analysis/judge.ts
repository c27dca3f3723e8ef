/**
 * @module
 * Judges one transformation of a pipeline: legal or not, and which state or edge says so. The analysis asks it about
 * everything a pipeline's shape suggests; anybody else may ask about anything.
 */
import { HorizonError } from '../../core/errors.js'
import type { TaskGraph } from '../ir/task-graph.js'
import { judgeAsynchronous, judgeOutput, judgeSplit, judgeStream } from './judge-flow.js'
import {
  judgeBranches,
  judgeCoLocation,
  judgeDisaggregation,
  judgePipeline,
  judgeShare,
  judgeSteps,
} from './judge-place.js'
import type { Verdict } from './verdict.js'

/** Names are leaf paths (`s2v/dit/step1`) or graphs (`s2v/dit`), which stand for all leaves below them. */
export type Transformation =
  | { readonly rule: 'stream-edge'; readonly from: string; readonly to: string }
  | { readonly rule: 'stream-output'; readonly node: string }
  | {
      readonly rule: 'sequence-parallel' | 'tensor-parallel' | 'tile-parallel'
      readonly node: string
    }
  | {
      readonly rule:
        | 'co-locate'
        | 'disaggregate'
        | 'parallel-branches'
        | 'pipeline-batches'
        | 'share-read'
      readonly nodes: readonly [string, string]
    }
  | { readonly rule: 'pipeline-steps'; readonly graph: string }
  | { readonly rule: 'asynchronous'; readonly node: string }

/** @example judge(graph, { rule: 'disaggregate', nodes: ['dit', 'vae'] }).legal */
export function judge(graph: TaskGraph, change: Transformation): Verdict {
  switch (change.rule) {
    case 'stream-edge':
      return judgeStream(graph, change.from, change.to)
    case 'stream-output':
      return judgeOutput(graph, change.node)
    case 'sequence-parallel':
    case 'tensor-parallel':
    case 'tile-parallel':
      return judgeSplit(graph, change.rule, change.node)
    case 'co-locate':
      return judgeCoLocation(graph, change.nodes)
    case 'disaggregate':
      return judgeDisaggregation(graph, change.nodes)
    case 'parallel-branches':
      return judgeBranches(graph, change.nodes)
    case 'pipeline-batches':
      return judgePipeline(graph, change.nodes)
    case 'share-read':
      return judgeShare(graph, change.nodes)
    case 'pipeline-steps':
      return judgeSteps(graph, change.graph)
    case 'asynchronous':
      return judgeAsynchronous(graph, change.node)
    default:
      throw new HorizonError('ERR_DEPLOY_RULE', 'no such rule', {
        got: (change as { rule: string }).rule,
      })
  }
}
