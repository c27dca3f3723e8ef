/**
 * @module
 * The zod schema of a pipeline file and the JSON Schema made from it. Shorthands are widened here (`timesMs: 12`),
 * so that everything after works on the one form of `pipeline.ts`. Meaning (dangling edges, cycles) is `check.ts`'s.
 */
import { z } from 'zod'
import type { ParallelKind, Pipeline, PipelineNode, TimesMs } from './pipeline.js'

const id = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a name: a letter, then letters, digits, _ or -')
const nodePath = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_-]*(\/[A-Za-z][A-Za-z0-9_-]*)*$/,
    'a node, or a path such as s2v/dit1',
  )
const ms = z.number().positive().finite()
const degree = z.string().regex(/^[1-9][0-9]*$/, 'a number of GPUs')
const byDegree = z
  .record(degree, ms)
  .refine((row) => Object.keys(row).length > 0, 'at least one degree')
const mode = z.enum(['blocking', 'streaming'])
const parallel = z.array(z.enum(['sequence', 'tensor', 'tiles', 'steps'])).default([])

const timesMs = z
  .union([
    ms,
    byDegree,
    z
      .record(id, byDegree)
      .refine((rows) => Object.keys(rows).length > 0, 'at least one hardware name'),
  ])
  .transform((value): TimesMs => {
    if (typeof value === 'number') return { any: { '1': value } }
    const first = Object.values(value)[0]
    return typeof first === 'number'
      ? { any: value as Record<string, number> }
      : (value as Record<string, Record<string, number>>)
  })
  .describe(
    'Milliseconds: a number (one GPU, any hardware), {degree: ms}, or {hardware: {degree: ms}}',
  )

const leaf = {
  description: z.string().optional(),
  runs: z.enum(['batch', 'request', 'event']).default('batch'),
  runsPerBatch: z.number().nonnegative().finite().optional(),
  reads: z.array(id).default([]),
  writes: z.array(id).default([]),
  timesMs: timesMs.optional(),
  memoryGiB: z
    .union([z.number().nonnegative(), z.record(degree, z.number().nonnegative())])
    .default(0)
    .describe('GiB per GPU: a number, or one per degree'),
  parallel,
  device: z.enum(['gpu', 'cpu']).default('gpu'),
  op: z.string().min(1).optional(),
}

const operation = z.strictObject({ kind: z.literal('operation').default('operation'), ...leaf })
const engine = z.strictObject({
  kind: z.literal('engine'),
  ...leaf,
  engine: z.string().min(1),
  model: z.string().min(1).optional(),
  stage: z.int().nonnegative().optional(),
  stageNames: z.record(z.string(), z.array(z.string().min(1)).min(1)).optional(),
  engineArgs: z.record(z.string(), z.json()).optional(),
  output: z
    .enum(['text', 'audio', 'image', 'video', 'action'])
    .optional()
    .describe('What leaves the pipeline after this node'),
})
const state = z.strictObject({
  description: z.string().optional(),
  sizeBytes: z.number().nonnegative().finite().default(0),
  owner: nodePath.optional(),
  moveMs: z.number().nonnegative().finite().optional(),
  initial: z.enum(['none', 'empty', 'given']).default('none'),
})
const edge = z.strictObject({
  from: nodePath,
  to: nodePath,
  mode,
  payloadBytes: z.number().nonnegative().finite().default(0),
  transferMs: z.number().nonnegative().finite().optional(),
})

export type OperationInput = z.input<typeof operation>
export type EngineInput = z.input<typeof engine>
export type StateInput = z.input<typeof state>
export type EdgeInput = z.input<typeof edge>
export interface GraphInput {
  kind: 'graph'
  description?: string | undefined
  parallel?: ParallelKind[] | undefined
  inputs?: string[] | undefined
  outputs?: string[] | undefined
  states?: Record<string, StateInput> | undefined
  nodes: Record<string, NodeInput>
  edges?: EdgeInput[] | undefined
}
export type NodeInput = OperationInput | EngineInput | GraphInput

const node: z.ZodType<PipelineNode, NodeInput> = z.lazy(() =>
  z.discriminatedUnion('kind', [operation, engine, graphNode], {
    error: "expected kind 'operation', 'engine' or 'graph'",
  }),
) as unknown as z.ZodType<PipelineNode, NodeInput>

const graphFields = {
  states: z.record(id, state).default({}),
  nodes: z.record(id, node).refine((nodes) => Object.keys(nodes).length > 0, 'at least one node'),
  edges: z.array(edge).default([]),
}
const graphNode = z.strictObject({
  kind: z.literal('graph'),
  description: z.string().optional(),
  parallel,
  inputs: z.array(nodePath).min(1).optional(),
  outputs: z.array(nodePath).min(1).optional(),
  ...graphFields,
})

/** What a pipeline file may say. */
export const pipelineSchema = z
  .strictObject({
    name: z.string().min(1),
    description: z.string().optional(),
    chunksPerBatch: z.int().positive().default(1),
    unit: z.string().min(1).default('chunks'),
    unitsPerBatch: z.number().positive().finite().optional(),
    ...graphFields,
    entries: z.array(nodePath).min(1),
    outputs: z
      .array(
        z.strictObject({
          node: nodePath,
          chunks: z.int().positive().optional(),
          mode: mode.default('streaming'),
        }),
      )
      .min(1),
    engines: z
      .record(
        z.string(),
        z.strictObject({
          pipeline: z.string().min(1),
          model: z.string().optional(),
          base: z.string().min(1).optional(),
        }),
      )
      .default({}),
  })
  .describe('A HorizonServe pipeline')

export type PipelineInput = z.input<typeof pipelineSchema>

/** JSON Schema (draft 2020-12) of a pipeline file, for editors and for agents. */
export function pipelineJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(pipelineSchema, { io: 'input', target: 'draft-2020-12' }) as Record<
    string,
    unknown
  >
}

/** Fills what depends on other fields: run shares, counts of the last output, units. */
export function complete(parsed: z.output<typeof pipelineSchema>): Pipeline {
  const counted = parsed.outputs.reduce((sum, output) => sum + (output.chunks ?? 0), 0)
  const open = parsed.outputs.filter((output) => output.chunks === undefined).length
  // One output without a count takes the rest; several share nothing (0 is reported by `check.ts`).
  const rest = open === 1 ? parsed.chunksPerBatch - counted : 0
  return {
    ...parsed,
    unitsPerBatch: parsed.unitsPerBatch ?? parsed.chunksPerBatch,
    nodes: completeNodes(parsed.nodes),
    outputs: parsed.outputs.map((output) => ({ ...output, chunks: output.chunks ?? rest })),
  } as Pipeline
}

function completeNodes(
  nodes: Readonly<Record<string, PipelineNode>>,
): Record<string, PipelineNode> {
  const result: Record<string, PipelineNode> = {}
  for (const [name, item] of Object.entries(nodes)) {
    result[name] =
      item.kind === 'graph'
        ? { ...item, nodes: completeNodes(item.nodes) }
        : { ...item, runsPerBatch: item.runsPerBatch ?? (item.runs === 'batch' ? 1 : 0) }
  }
  return result
}
