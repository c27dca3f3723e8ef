/**
 * @module
 * `horizonserve launch -- vllm serve …`: runs the engine's own command with the controller's scheduler in it. Signals go through, and the
 * exit code is the engine's.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { HorizonError } from '../../core/errors.js'
import type { CliCommand } from '../command.js'
import { checkEngine, describeDeploy, engineEnvironment, findEngine } from '../engine-command.js'

export const command: CliCommand = {
  name: 'launch',
  summary: 'Run the engine with our scheduler in it: launch -- vllm serve MODEL …',
  configure(command) {
    command
      .argument('<command...>', "the engine's own command, after --")
      .option('--segment <name>', 'name of the engine, as for `run`', 'omni')
      .option('--python <path>', 'interpreter of the engine', 'python3')
      .option('--any-version', 'take versions that no test has started', false)
  },
  async run(args, options, io) {
    if (!/(^|\/)vllm$/.test(args[0] ?? '') || args[1] !== 'serve')
      throw new HorizonError('ERR_CLI_OPTION', 'not a command that starts a server', {
        field: 'command',
        expected: 'vllm serve MODEL …',
        got: args.slice(0, 2).join(' '),
      })
    const engine = args.includes('--omni') ? 'vllm-omni' : 'vllm'
    const found = findEngine(String(options.python))
    checkEngine(found, engine, options.anyVersion === true)
    const at = args.findIndex(
      (word) => word === '--deploy-config' || word.startsWith('--deploy-config='),
    )
    const deploy = at < 0 ? undefined : (args[at]!.split('=')[1] ?? args[at + 1])
    if (deploy !== undefined)
      for (const line of describeDeploy(deploy)) io.err(`horizonserve: ${line}\n`)
    const env = engineEnvironment(String(options.segment))
    io.err(
      `horizonserve: ${Object.entries(env)
        .map(([k, v]) => `${k}=${v}`)
        .join(' ')} ${args.join(' ')}\n`,
    )
    const child = spawn(args[0]!, args.slice(1), {
      stdio: 'inherit',
      env: { ...process.env, ...env },
    })
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal)
    const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
    for (const signal of signals) process.on(signal, pass)
    try {
      return await new Promise<number>((resolve, reject) => {
        child.once('error', (cause) =>
          reject(
            new HorizonError('ERR_CLI_ENGINE_UNAVAILABLE', 'the command does not run', {
              field: 'command',
              expected: 'vllm on the PATH, or a path to it',
              got: args[0],
              cause,
            }),
          ),
        )
        child.once('exit', (code, signal) =>
          resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
        )
      })
    } finally {
      for (const signal of signals) process.off(signal, pass)
    }
  },
}
