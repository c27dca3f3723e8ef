/**
 * @module
 * Reads a pipeline from YAML or JSON text. Everything wrong with it is one error whose lines start with `file:line`.
 */
import { isNode, LineCounter, parseDocument } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import { looksLikeDeployFile } from '../import/import-deploy.js'
import { buildTaskGraph, fail, type Locate } from './build-task-graph.js'
import type { Issue } from './flatten.js'
import type { Pipeline } from './pipeline.js'
import { complete, pipelineSchema } from './schema.js'
import type { FieldPath, TaskGraph } from './task-graph.js'

export interface ReadPipeline {
  readonly pipeline: Pipeline
  readonly graph: TaskGraph
  /** `file:line` of a field, for errors that are found later (a budget that cannot hold a node). */
  readonly locate: Locate
}

/** @example readPipeline(readFileSync('worldplay.yaml', 'utf8'), 'worldplay.yaml') */
export function readPipeline(text: string, file = 'pipeline'): ReadPipeline {
  const lines = new LineCounter()
  const doc = parseDocument(text, { lineCounter: lines, merge: true })
  const lineOf = (offset: number | undefined): string =>
    `${file}:${lines.linePos(offset ?? 0).line}`
  const broken = doc.errors[0]
  if (broken !== undefined)
    throw new HorizonError(
      'ERR_DEPLOY_YAML',
      `${lineOf(broken.pos[0])}: ${broken.message.split('\n')[0]}`,
    )
  const locate: Locate = (at) => {
    // The deepest part of the path that the file has: a missing field is reported at its parent.
    for (let depth = at.length; depth > 0; depth -= 1) {
      const parent = depth === 1 ? doc.contents : doc.getIn(at.slice(0, depth - 1), true)
      const offset = keyOffset(parent, at[depth - 1]!)
      if (offset !== undefined) return lineOf(offset)
    }
    return lineOf(isNode(doc.contents) ? doc.contents.range?.[0] : 0)
  }
  const plain = toPlain(doc, lineOf)
  if (looksLikeDeployFile(plain))
    throw new HorizonError(
      'ERR_DEPLOY_SCHEMA',
      `${lineOf(0)}: this is a vLLM-Omni deploy file, not a pipeline; 'horizonserve import ${file}' makes a pipeline of it`,
    )
  const parsed = pipelineSchema.safeParse(plain)
  if (!parsed.success) {
    const issues = parsed.error.issues.flatMap((issue) => unfold(issue, []))
    fail(issues, (at) => `${locate(at)}: ${at.join('.') || 'the file'}`)
  }
  const pipeline = complete(parsed.data)
  return { pipeline, graph: buildTaskGraph(pipeline, locate), locate }
}

function toPlain(
  doc: ReturnType<typeof parseDocument>,
  lineOf: (offset?: number) => string,
): unknown {
  try {
    return doc.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new HorizonError('ERR_DEPLOY_YAML', `${lineOf()}: ${(error as Error).message}`)
  }
}

interface ZodIssue {
  readonly code: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly errors?: readonly (readonly ZodIssue[])[]
  readonly keys?: readonly string[]
}

/** A union's own message says nothing; its branch that got furthest does. */
function unfold(issue: ZodIssue, prefix: FieldPath): Issue[] {
  const at = [...prefix, ...(issue.path as FieldPath)]
  if (issue.code === 'invalid_union' && issue.errors !== undefined && issue.errors.length > 0) {
    const depth = (branch: readonly ZodIssue[]): number =>
      Math.max(0, ...branch.map((inner) => inner.path.length))
    const best = [...issue.errors].sort((a, b) => depth(b) - depth(a))[0]!
    if (best.length > 0) return best.flatMap((inner) => unfold(inner, at))
  }
  const time = at.includes('timesMs')
  const code = time ? 'ERR_DEPLOY_TIME' : 'ERR_DEPLOY_SCHEMA'
  if (issue.keys?.length)
    return issue.keys.map((key) => ({ code, at: [...at, key], text: issue.message }))
  return [{ code, at, text: issue.message }]
}

/** Where a key or an item starts in the text. */
function keyOffset(parent: unknown, key: string | number): number | undefined {
  if (typeof parent !== 'object' || parent === null || !('items' in parent)) return undefined
  const items = parent.items as unknown[]
  if (typeof key === 'number') {
    const item = items[key]
    return isNode(item) ? item.range?.[0] : undefined
  }
  for (const pair of items) {
    if (typeof pair !== 'object' || pair === null || !('key' in pair)) continue
    const name = pair.key
    if (isNode(name) && 'value' in name && String(name.value) === key) return name.range?.[0]
  }
  return undefined
}
