#!/usr/bin/env node
/**
 * @module
 * The `horizonserve` program: wires the list of commands to the process.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { isHorizonError } from '../core/errors.js'
import { type CliIo, EXIT } from './command.js'
import { COMMANDS } from './commands.js'

const EXIT_CODES = `
Exit codes: 0 it ran, and the answer is good; 1 it ran, and the answer is no (a check failed, nothing fits);
2 a wrong argument or input file, or output that cannot be written; 3 this machine lacks something; 70 a bug of ours.`

/** Runs one command line (without `node` and the script) and returns its exit code. Never throws, never exits. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let code: number = EXIT.ok
  const program = new Command('horizonserve')
    .description('Scheduling for omni-model serving: simulate, calibrate, plan, run.')
    .version(readVersion())
    .addHelpText('after', EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
  // Only the file of the command asked for is loaded; help and mistakes need them all for their summaries.
  const wanted = COMMANDS.filter((entry) => entry.name === argv[0])
  for (const entry of wanted.length > 0 ? wanted : COMMANDS) {
    const command = await entry.load()
    const sub = program.command(command.name).description(command.summary).exitOverride()
    sub.configureOutput({ writeOut: io.out, writeErr: io.err })
    command.configure(sub)
    sub.action(async () => {
      code = await command.run(sub.args, sub.opts(), io)
    })
  }
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.badInput
    if (isHorizonError(error)) {
      io.err(`${error.message}\n  (${error.code})\n`)
      return error.code.endsWith('_UNAVAILABLE') ? EXIT.unavailable : EXIT.badInput
    }
    io.err(
      `unexpected error, please report it: ${error instanceof Error ? error.stack : String(error)}\n`,
    )
    return EXIT.internal
  }
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function isMain(): boolean {
  const script = process.argv[1]
  return (
    script !== undefined && realpathSync(script) === realpathSync(fileURLToPath(import.meta.url))
  )
}

if (isMain()) {
  // A closed pipe (`| head`) is the reader's right, not an error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    // A full disk: what was asked for is not there, whatever the command says when it ends.
    process.stderr.write(`cannot write to standard output: ${error.message}\n  (ERR_CLI_WRITE)\n`)
    process.exit(EXIT.badInput)
  })
  // Nobody is left to be told.
  process.stderr.on('error', () => {})
  process.exitCode = await runCli(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    progress: process.stderr.isTTY === true,
    columns: process.stdout.columns ?? 100,
  })
}
