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
  { name: 'simulate', load: async () => (await import('./commands/simulate.js')).command },
  { name: 'reproduce', load: async () => (await import('./commands/reproduce.js')).command },
  { name: 'identify', load: async () => (await import('./commands/identify.js')).command },
  { name: 'tune', load: async () => (await import('./commands/tune.js')).command },
  { name: 'calibrate', load: async () => (await import('./commands/calibrate.js')).command },
  { name: 'report', load: async () => (await import('./commands/report.js')).command },
  { name: 'init', load: async () => (await import('./commands/init.js')).command },
  { name: 'fidelity', load: async () => (await import('./commands/fidelity.js')).command },
  { name: 'doctor', load: async () => (await import('./commands/doctor.js')).command },
  { name: 'sweep', load: async () => (await import('./commands/sweep.js')).command },
  { name: 'analyze', load: async () => (await import('./commands/analyze.js')).command },
  { name: 'plan', load: async () => (await import('./commands/plan.js')).command },
  { name: 'import', load: async () => (await import('./commands/import.js')).command },
  { name: 'mcp', load: async () => (await import('./commands/mcp.js')).command },
  { name: 'env', load: async () => (await import('./commands/env.js')).command },
  { name: 'launch', load: async () => (await import('./commands/launch.js')).command },
  { name: 'run', load: async () => (await import('./commands/run.js')).command },
  { name: 'load', load: async () => (await import('./commands/load.js')).command },
  { name: 'twin', load: async () => (await import('./commands/twin.js')).command },
  { name: 'pick', load: async () => (await import('./commands/pick.js')).command },
  { name: 'attach', load: async () => (await import('./commands/attach.js')).command },
  { name: 'replay', load: async () => (await import('./commands/replay.js')).command },
  { name: 'watch', load: async () => (await import('./commands/watch.js')).command },
]
