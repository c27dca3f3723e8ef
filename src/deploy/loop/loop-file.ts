/**
 * @module
 * The form of `loop.yaml`: what a person declares once, before an agent or anybody else starts proposing. Paths are relative
 * to the file and may not lead out of its folder; commands are programs with arguments, run without a shell.
 */
import { z } from 'zod'
import { gateSchema } from '../gate/declaration.js'
import { budgetSchema } from './events.js'
import { DEFAULT_GATES } from './loop-project.js'

const path = z.string().min(1).max(400)
const command = z.array(z.string().min(1)).min(1).max(64)
const env = z.record(z.string(), z.string()).default({})
/** Longest silence of a request before it counts as failed. */
const idleMs = z.number().positive().max(3_600_000).default(120_000)
const readyMs = z.number().positive().max(3_600_000).default(120_000)

/** A program that speaks the harness's JSON lines. */
const program = z.strictObject({
  kind: z.literal('program').default('program'),
  folder: path.optional(),
  command,
  env,
  readyMs,
  idleMs,
})
/** A server with an OpenAI-compatible API; with a command it is started first and ended afterwards. */
const openai = z.strictObject({
  kind: z.literal('openai'),
  folder: path.optional(),
  baseUrl: z.url({ protocol: /^https?$/ }),
  path: z.string().startsWith('/').optional(),
  headers: z.record(z.string(), z.string()).default({}),
  command: command.optional(),
  env,
  readyMs,
  idleMs,
})
const backend = z.discriminatedUnion('kind', [program, openai])

/** One request: a single input at `atMs`, or several over time. */
const request = z.union([
  z.strictObject({ atMs: z.number().nonnegative().default(0), value: z.unknown() }),
  z.strictObject({
    inputs: z.array(z.strictObject({ atMs: z.number().nonnegative(), value: z.unknown() })).min(1),
  }),
])
const script = z.array(request).min(1).max(10_000)

export const loopFileSchema = z.strictObject({
  name: z.string().min(1).max(200),
  /** The pipeline's IR. */
  pipeline: path,
  /** Where the journal and the workspaces go. */
  folder: path.default('deploy-loop'),
  reference: backend,
  /** How a variant is started, in its workspace; a workspace begins as a copy of `template`. */
  candidate: z.strictObject({ template: path.optional(), backend }),
  /** The pipeline's nodes as a program, for the interpreter. */
  nodes: z.strictObject({ folder: path.optional(), command, env, idleMs }).optional(),
  /** Values of states that are there beforehand, by qualified name. */
  given: z.record(z.string(), z.unknown()).default({}),
  verify: script,
  /** One timed run; the verification's requests when absent. */
  measure: script.optional(),
  tolerances: z
    .record(
      z.string(),
      z.strictObject({
        absolute: z.number().nonnegative().default(0),
        relative: z.number().nonnegative().default(0),
      }),
    )
    .default({}),
  gates: z
    .strictObject({
      latency: gateSchema.prefault(structuredClone(DEFAULT_GATES.latency) as never),
      rate: gateSchema.prefault(structuredClone(DEFAULT_GATES.rate) as never),
      both: gateSchema.prefault(structuredClone(DEFAULT_GATES.both) as never),
    })
    .prefault({}),
  /** Media time in one output (a chunk of audio, some frames): with it runs get a real-time factor. */
  mediaMsPerOutput: z.number().positive().max(3_600_000).optional(),
  budget: budgetSchema.default({ runs: 2000 }),
  warmUpRuns: z.int().min(0).max(100).default(1),
  coolDownMs: z.number().min(0).max(600_000).default(0),
})

export type LoopFile = z.infer<typeof loopFileSchema>
export type BackendDeclaration = LoopFile['reference']
