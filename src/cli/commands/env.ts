/**
 * @module
 * `horizonserve env`: how to start the installed engine with the controller's scheduler in it, as a shell reads it.
 */
import { type CliCommand, EXIT } from '../command.js'
import {
  checkEngine,
  describeDeploy,
  ENGINES,
  engineEnvironment,
  findEngine,
} from '../engine-command.js'
import { engineOption } from '../engine-option.js'

export const command: CliCommand = {
  name: 'env',
  summary: 'Print environment and command that start the installed engine with our scheduler in it',
  configure(command) {
    command
      .requiredOption('--engine <name>', `the engine: ${Object.keys(ENGINES).join(', ')}`)
      .option('--deploy <file>', 'vLLM-Omni: your deploy file, checked and used as it stands')
      .option('--model <name>', 'the model to serve', 'MODEL')
      .option('--segment <name>', 'name of the engine, as for `run`', 'omni')
      .option('--python <path>', 'interpreter of the engine', 'python3')
      .option('--any-version', 'take versions that no test has started', false)
  },
  async run(_args, options, io) {
    const engine = engineOption(options.engine)
    const found = findEngine(String(options.python))
    checkEngine(found, engine, options.anyVersion === true)
    const deploy = options.deploy === undefined ? undefined : String(options.deploy)
    const notes = [
      `${engine} ${found[engine]}${engine === 'vllm-omni' ? ` on vllm ${found.vllm}` : ''}, horizonserve ${found.horizonserve}; the scheduler comes in by the plugin, no flag is needed`,
      ...(deploy === undefined ? [] : describeDeploy(deploy)),
    ]
    for (const note of notes) io.out(`# ${note}\n`)
    for (const [name, value] of Object.entries(engineEnvironment(String(options.segment))))
      io.out(`export ${name}=${value}\n`)
    const omni = engine === 'vllm-omni' ? ' --omni' : ''
    const file = deploy === undefined ? '' : ` --deploy-config ${quote(deploy)}`
    io.out(`# then: vllm serve ${quote(String(options.model))}${omni}${file}\n`)
    io.out(
      `# and beside it: horizonserve run --config horizon.yaml --segment ${String(options.segment)} --wait --metrics-port 9464\n`,
    )
    return EXIT.ok
  },
}

function quote(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
