/**
 * The official client over stdio, connected to a server on a project. Every answer is held to the byte budget.
 */
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, onTestFinished } from 'vitest'
import { MAX_ANSWER_BYTES } from '../../../src/deploy/mcp/fit-answer.js'

const ROOT = new URL('../../../', import.meta.url).pathname

interface Answer {
  readonly body: Record<string, unknown>
  readonly text: string
  readonly isError: boolean
  readonly bytes: number
}

/** `scale` shrinks the holds of the example. */
export async function connectMcp(project: string, scale = 0.04) {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--import', 'tsx', join(ROOT, 'src/cli/main.ts'), 'mcp', '--project', project],
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', FACE_TO_FACE_SCALE: String(scale) },
    stderr: 'pipe',
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  // The official client refuses structured answers that do not fit the declared schema; it must know them for that.
  const { tools } = await client.listTools()
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<Answer> => {
    // A watchdog, not a bound: machines are slow at times.
    const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 600_000 })
    const [content] = result.content as { text: string }[]
    const bytes = Buffer.byteLength(JSON.stringify(result))
    expect(bytes).toBeLessThanOrEqual(MAX_ANSWER_BYTES)
    return {
      body: (result.structuredContent ?? {}) as Record<string, unknown>,
      text: content!.text,
      isError: result.isError === true,
      bytes,
    }
  }
  return { client, tools, call }
}
