/**
 * @module
 * What a tool of the MCP server is: names, schemas both ways, hints for the client, and a function that answers.
 */
import { z } from 'zod'
import type { Answer } from './fit-answer.js'
import type { ProjectSession } from './project-session.js'

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodType
  readonly output: z.ZodType
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: boolean
  }
  run(args: unknown, session: ProjectSession): Promise<Answer>
}

/** Declares a tool; `run` sees arguments that passed the schema. */
export function defineTool<Input extends z.ZodType>(
  tool: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input
    run(args: z.output<Input>, session: ProjectSession): Promise<Answer>
  },
): Tool {
  return tool as Tool
}

/** Looks and touches nothing. */
export const READ_ONLY = Object.freeze({
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
})

/** Appends to the journal, starts programs that the project file names; deletes and overwrites nothing. */
export const APPENDS = Object.freeze({
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
})

/** Page mark of a long list, as a previous answer gave it. */
export const cursorInput = z
  .string()
  .regex(/^\d{1,9}$/, "the 'nextCursor' of the previous answer")
  .optional()
  .describe("Where to go on: the 'nextCursor' of the previous answer")

export const pipelineInput = z
  .string()
  .min(1)
  .max(400)
  .optional()
  .describe('Path of the pipeline file inside the project; the one that loop.yaml names by default')

export const detailInput = z
  .enum(['summary', 'full'])
  .default('summary')
  .describe('summary: names and figures; full: reasons too')

export const nextCursor = z.string().optional()

/** Offset that a cursor stands for. */
export function offsetOf(cursor: string | undefined): number {
  return cursor === undefined ? 0 : Number(cursor)
}
