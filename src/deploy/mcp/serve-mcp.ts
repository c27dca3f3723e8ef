/**
 * @module
 * The MCP server: standard input and output, one project folder, the official SDK underneath. Arguments that do not fit a
 * tool's schema, and paths that lead out of the project, are protocol errors; what a tool refuses is an answer that says what
 * to do next. Calls run one after another: the loop has one journal.
 */
import { realpathSync } from 'node:fs'
import { z } from 'zod'
import { isHorizonError } from '../../core/errors.js'
import { type FittedResult, failure, fitAnswer } from './fit-answer.js'
import { loadSdk, type Sdk } from './load-sdk.js'
import { type ProjectSession, projectSession } from './project-session.js'
import type { Tool } from './tool.js'
import { TOOLS } from './tools.js'

const INSTRUCTIONS =
  'Turns a pipeline into measured deployments. Order: validate, interpret, analyse, propose {seed}, then repeat next and record until next says nothing. Only measured, equal and confirmed variants are accepted.'

/** Serves `folder` until standard input ends. */
export async function serveMcp(folder: string, version: string): Promise<void> {
  const sdk = await loadSdk()
  const session = projectSession(realpathSync(folder))
  const server = new sdk.Server(
    { name: 'horizonserve', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  let queue: Promise<unknown> = Promise.resolve()
  server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({ tools: TOOLS.map(describe) }))
  server.setRequestHandler(sdk.CallToolRequestSchema, (request) => {
    const { name, arguments: args } = request.params
    const answer = queue.then(() => callTool(sdk, session, name, args ?? {}))
    queue = answer.catch(() => {})
    return answer
  })
  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve
    // The SDK's transport does not watch for the end of its input.
    process.stdin.once('end', resolve)
    process.stdin.once('close', resolve)
  })
  await server.connect(new sdk.StdioServerTransport())
  await ended
  await queue
  session.close()
  await server.close()
}

async function callTool(
  sdk: Sdk,
  session: ProjectSession,
  name: string,
  args: unknown,
): Promise<FittedResult> {
  const tool = TOOLS.find((item) => item.name === name)
  if (tool === undefined)
    throw new sdk.McpError(
      sdk.ErrorCode.InvalidParams,
      `no tool '${name.slice(0, 60)}'; known: ${TOOLS.map((item) => item.name).join(', ')}`,
    )
  const parsed = tool.input.safeParse(args)
  if (!parsed.success) {
    const issues = parsed.error.issues
      .slice(0, 5)
      .map(
        (issue) =>
          `${issue.path.join('.').slice(0, 80) || 'arguments'}: ${issue.message.slice(0, 200)}`,
      )
    throw new sdk.McpError(
      sdk.ErrorCode.InvalidParams,
      `arguments of '${name}': ${issues.join('; ')}`,
    )
  }
  try {
    const answer = await tool.run(parsed.data, session)
    const result = fitAnswer(answer)
    // What is promised is checked here too: a client that validates would drop the answer.
    if (result.structuredContent !== undefined) tool.output.parse(result.structuredContent)
    return result
  } catch (error) {
    if (!isHorizonError(error))
      throw new sdk.McpError(
        sdk.ErrorCode.InternalError,
        `'${name}' failed: ${String(error).slice(0, 500)}`,
      )
    if (error.code === 'ERR_DEPLOY_LOOP_PATH')
      throw new sdk.McpError(sdk.ErrorCode.InvalidParams, `${error.message} (${error.code})`)
    return failure(`${error.message} (${error.code})`)
  }
}

function describe(tool: Tool) {
  const { name, title, description, annotations } = tool
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: schemaOf(tool.input, 'input'),
    outputSchema: schemaOf(tool.output, 'output'),
  }
}

/** Without `$schema`: clients' validators know their own draft and stumble over a declared other one. */
function schemaOf(
  schema: z.ZodType,
  io: 'input' | 'output',
): { readonly type: 'object'; [key: string]: unknown } {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-7' })
  return { ...rest, type: 'object' }
}
