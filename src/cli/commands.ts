/**
 * @module
 * The list of commands, in the order `--help` shows them. A command is one file under `commands/`; adding one is
 * adding a line here. Files load when their command runs, so that `--help` stays quick and nothing native loads early.
 */
import type { CliCommand } from './command.js'

/** Loads the commands named, or all of them. */
export interface CommandEntry {
  readonly name: string
  readonly load: () => Promise<CliCommand>
}

export const COMMANDS: readonly CommandEntry[] = [
  { name: 'analyze', load: async () => (await import('./commands/analyze.js')).analyzeCommand },
  { name: 'plan', load: async () => (await import('./commands/plan.js')).planCommand },
  { name: 'mcp', load: async () => (await import('./commands/mcp.js')).mcpCommand },
]
