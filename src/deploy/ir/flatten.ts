/**
 * @module
 * Expands a hierarchical pipeline into leaf tasks and data edges between them. Names are resolved here: an edge may name
 * a node of its own graph, a path below it, or a graph node, which stands for its inputs or outputs.
 */
import type { Graph, GraphNode, Pipeline, PipelineEdge, PipelineState } from './pipeline.js'
import type { FieldPath, Task } from './task-graph.js'

/** A data edge between leaves. */
export interface LeafEdge {
  readonly from: string
  readonly to: string
  readonly edge: PipelineEdge
  readonly at: FieldPath
}

/** Something wrong with the meaning of a pipeline; `check.ts` turns a list of them into one error. */
export interface Issue {
  readonly code: `ERR_DEPLOY_${string}`
  readonly at: FieldPath
  readonly text: string
}

export interface Flat {
  readonly tasks: readonly Task[]
  readonly edges: readonly LeafEdge[]
  readonly states: ReadonlyMap<string, PipelineState>
  /** Where each state is declared. */
  readonly statesAt: ReadonlyMap<string, FieldPath>
}

interface Scope {
  readonly prefix: string
  readonly graph: Graph
  readonly at: FieldPath
  readonly outer?: Scope
  readonly steps?: string
}

/** Leaves and edges of the whole hierarchy. Names that lead nowhere become issues and are left out. */
export function flatten(pipeline: Pipeline, issues: Issue[]): Flat {
  const tasks: Task[] = []
  const edges: LeafEdge[] = []
  const states = new Map<string, PipelineState>()
  const statesAt = new Map<string, FieldPath>()
  const visit = (scope: Scope): void => {
    for (const [name, state] of Object.entries(scope.graph.states)) {
      states.set(scope.prefix + name, state)
      statesAt.set(scope.prefix + name, [...scope.at, 'states', name])
    }
    for (const [name, node] of Object.entries(scope.graph.nodes)) {
      const at = [...scope.at, 'nodes', name]
      const path = scope.prefix + name
      if (node.kind === 'graph') {
        const steps = node.parallel.includes('steps') ? path : scope.steps
        visit({ prefix: `${path}/`, graph: node, at, outer: scope, ...(steps && { steps }) })
        continue
      }
      const find = (kind: 'reads' | 'writes'): string[] =>
        node[kind].flatMap((state, index) => {
          const found = resolveState(scope, state)
          if (found === undefined)
            issues.push({
              code: 'ERR_DEPLOY_STATE_UNKNOWN',
              at: [...at, kind, index],
              text: `node ${path} ${kind} state '${state}', which is declared neither in its graph nor around it`,
            })
          return found ?? []
        })
      const { steps } = scope
      tasks.push({
        path,
        node,
        reads: find('reads'),
        writes: find('writes'),
        at,
        ...(steps && { steps }),
      })
    }
    scope.graph.edges.forEach((edge, index) => {
      const at = [...scope.at, 'edges', index]
      const sources = ends(scope, edge.from, 'outputs', [...at, 'from'], issues)
      const targets = ends(scope, edge.to, 'inputs', [...at, 'to'], issues)
      for (const from of sources) for (const to of targets) edges.push({ from, to, edge, at })
    })
  }
  visit({ prefix: '', graph: pipeline, at: [] })
  return { tasks, edges, states, statesAt }
}

/** Leaf paths that a name stands for at the top level: itself, or the inputs or outputs of a graph node. */
export function leavesOf(
  pipeline: Pipeline,
  name: string,
  side: 'inputs' | 'outputs',
  at: FieldPath,
  issues: Issue[],
): string[] {
  return ends({ prefix: '', graph: pipeline, at: [] }, name, side, at, issues)
}

function resolveState(scope: Scope, name: string): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer)
    if (Object.hasOwn(at.graph.states, name)) return at.prefix + name
  return undefined
}

function ends(
  scope: Scope,
  name: string,
  side: 'inputs' | 'outputs',
  at: FieldPath,
  issues: Issue[],
): string[] {
  let graph: Graph = scope.graph
  const parts = name.split('/')
  for (const [depth, part] of parts.entries()) {
    const node = Object.hasOwn(graph.nodes, part) ? graph.nodes[part]! : undefined
    const last = depth === parts.length - 1
    if (node === undefined || (node.kind !== 'graph' && !last)) {
      const known = Object.keys(graph.nodes).join(', ')
      issues.push({
        code: 'ERR_DEPLOY_NODE_UNKNOWN',
        at,
        text: `no node '${name}'${scope.prefix ? ` in graph ${scope.prefix.slice(0, -1)}` : ''}; known there: ${known}`,
      })
      return []
    }
    if (node.kind !== 'graph') return [scope.prefix + name]
    graph = node
  }
  const inner: Scope = { prefix: `${scope.prefix}${name}/`, graph, at: scope.at }
  return borders(graph as GraphNode, side).flatMap((child) => ends(inner, child, side, at, issues))
}

function borders(graph: GraphNode, side: 'inputs' | 'outputs'): readonly string[] {
  const declared = graph[side]
  if (declared !== undefined) return declared
  const end = side === 'inputs' ? 'to' : 'from'
  const touched = new Set(graph.edges.map((edge) => edge[end].split('/')[0]))
  return Object.keys(graph.nodes).filter((name) => !touched.has(name))
}
