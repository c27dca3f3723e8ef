/**
 * @module
 * `horizonserve mcp --project DIR`: the measured loop of one project as tools for a coding agent, over standard input and output.
 */
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Command } from 'commander'
import { HorizonError } from '../../core/errors.js'
import { serveMcp } from '../../deploy/mcp/serve-mcp.js'
import { type CliCommand, EXIT } from '../command.js'

export const command: CliCommand = {
  name: 'mcp',
  summary: 'serve the deployment loop of a project to a coding agent (MCP over stdio)',
  configure(command: Command): void {
    command.option(
      '--project <dir>',
      'folder with pipeline.yaml and loop.yaml; nothing outside it is written',
      '.',
    )
  },
  async run(_, options) {
    const folder = String(options.project)
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new HorizonError('ERR_CLI_FILE', 'there is no such folder', {
        field: '--project',
        got: folder,
      })
    }
    // By the package's own name: this file moves when the package is built.
    const { version } = createRequire(import.meta.url)('horizonserve/package.json') as {
      version: string
    }
    await serveMcp(folder, version)
    return EXIT.ok
  },
}
