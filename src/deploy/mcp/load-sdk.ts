/**
 * @module
 * The official MCP SDK, loaded when it is used: it is an optional dependency, and nothing else of the package needs it.
 */
import { HorizonError } from '../../core/errors.js'

/** The parts of the SDK that the server uses. */
export async function loadSdk() {
  try {
    const [server, stdio, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ])
    return { ...server, ...stdio, ...types }
  } catch (cause) {
    throw new HorizonError('ERR_DEPLOY_MCP_UNAVAILABLE', 'the MCP SDK is not installed', {
      expected: 'the package @modelcontextprotocol/sdk',
      hint: 'Run: npm install @modelcontextprotocol/sdk',
      cause,
    })
  }
}

export type Sdk = Awaited<ReturnType<typeof loadSdk>>
