/**
 * @module
 * Writes a pipeline in TypeScript. Names are checked by the compiler: an edge to a node that was not declared is a type
 * error. The result is the same record that a YAML file gives, checked the same way.
 */
import { HorizonError } from '../../core/errors.js'
import { buildTaskGraph } from './build-task-graph.js'
import type { Pipeline } from './pipeline.js'
import {
  complete,
  type EdgeInput,
  type EngineInput,
  type GraphInput,
  type NodeInput,
  type OperationInput,
  type PipelineInput,
  pipelineSchema,
  type StateInput,
} from './schema.js'

type EdgeSpec = Omit<EdgeInput, 'from' | 'to' | 'mode'>
type LeafSpec<Input extends OperationInput | EngineInput, States extends string> = Omit<
  Input,
  'kind' | 'reads' | 'writes'
> & { readonly reads?: States[]; readonly writes?: States[] }

/** A node of this level, or a path into a nested graph. */
type Ref<Nodes extends string> = Nodes | `${Nodes}/${string}`

/** Everything about a pipeline that is neither node, edge nor state. */
export type PipelineHead = Omit<PipelineInput, 'name' | 'nodes' | 'edges' | 'states'>

/** One level of a pipeline under construction. `Nodes` and `States` are the names declared so far. */
export interface GraphBuilder<Nodes extends string, States extends string> {
  state<Name extends string>(name: Name, spec?: StateInput): GraphBuilder<Nodes, States | Name>
  operation<Name extends string>(
    name: Name,
    spec: LeafSpec<OperationInput, States>,
  ): GraphBuilder<Nodes | Name, States>
  engine<Name extends string>(
    name: Name,
    spec: LeafSpec<EngineInput, States>,
  ): GraphBuilder<Nodes | Name, States>
  /** A nested graph; states declared so far may be used inside. */
  graph<Name extends string>(
    name: Name,
    head: Omit<GraphInput, 'kind' | 'nodes' | 'edges' | 'states'>,
    inside: (
      builder: GraphBuilder<never, States>,
    ) => GraphBuilder<string, string> | GraphBuilder<never, never>,
  ): GraphBuilder<Nodes | Name, States>
  /** A streaming edge. */
  stream(from: Ref<Nodes>, to: Ref<Nodes>, spec?: EdgeSpec): GraphBuilder<Nodes, States>
  /** A blocking edge. */
  block(from: Ref<Nodes>, to: Ref<Nodes>, spec?: EdgeSpec): GraphBuilder<Nodes, States>
  /** Checks and freezes the whole. Only meaningful at the top level. */
  build(name: string, head: PipelineHead): Pipeline
  readonly parts: Pick<PipelineInput, 'nodes' | 'edges' | 'states'>
}

/**
 * Starts a pipeline.
 * @example
 * const worldplay = pipeline()
 *   .state('kv', { sizeBytes: 2 ** 30 })
 *   .operation('dit', { reads: ['kv'], writes: ['kv'], timesMs: { 1: 406, 2: 319 }, parallel: ['sequence'] })
 *   .operation('vae', { timesMs: 211 })
 *   .stream('dit', 'vae')
 *   .build('worldplay', { entries: ['dit'], outputs: [{ node: 'vae' }] })
 */
export function pipeline(): GraphBuilder<never, never> {
  return level({ nodes: {}, edges: [], states: {} })
}

function level(parts: {
  nodes: Record<string, NodeInput>
  edges: EdgeInput[]
  states: Record<string, StateInput>
}): GraphBuilder<never, never> {
  const put = (name: string, node: NodeInput): GraphBuilder<never, never> => {
    if (Object.hasOwn(parts.nodes, name))
      throw new HorizonError('ERR_DEPLOY_DUPLICATE', `node '${name}' is declared twice`)
    return level({ ...parts, nodes: { ...parts.nodes, [name]: node } })
  }
  const connect = (
    from: string,
    to: string,
    mode: 'streaming' | 'blocking',
    spec: EdgeSpec = {},
  ): GraphBuilder<never, never> =>
    level({ ...parts, edges: [...parts.edges, { ...spec, from, to, mode }] })
  const builder = {
    parts,
    state: (name: string, spec: StateInput = {}) =>
      level({ ...parts, states: { ...parts.states, [name]: spec } }),
    operation: (name: string, spec: object) =>
      put(name, { ...spec, kind: 'operation' } as NodeInput),
    engine: (name: string, spec: object) => put(name, { ...spec, kind: 'engine' } as NodeInput),
    graph: (
      name: string,
      head: object,
      inside: (builder: GraphBuilder<never, never>) => GraphBuilder<string, string>,
    ) => put(name, { ...head, kind: 'graph', ...inside(pipeline()).parts } as NodeInput),
    stream: (from: string, to: string, spec?: EdgeSpec) => connect(from, to, 'streaming', spec),
    block: (from: string, to: string, spec?: EdgeSpec) => connect(from, to, 'blocking', spec),
    build: (name: string, head: PipelineHead) => definePipeline({ ...parts, ...head, name }),
  }
  return builder as unknown as GraphBuilder<never, never>
}

/** A checked pipeline from a plain record, in the form a file has. Throws a `HorizonError` naming what is wrong. */
export function definePipeline(input: PipelineInput): Pipeline {
  const parsed = pipelineSchema.safeParse(input)
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new HorizonError('ERR_DEPLOY_SCHEMA', lines.join('\n'))
  }
  const result = complete(parsed.data)
  buildTaskGraph(result)
  return result
}
