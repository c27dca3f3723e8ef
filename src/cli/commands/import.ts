/**
 * @module
 * `horizonserve import deploy.yaml`: a pipeline for the planner from a vLLM-Omni deploy file.
 */
import { writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { HorizonError } from '../../core/errors.js'
import { HARDWARE, type HardwareKind, importDeploy } from '../../deploy/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { loadDeployFile, loadHardware } from '../load-pipeline.js'

export const command: CliCommand = {
  name: 'import',
  summary: 'a pipeline for `plan` from a vLLM-Omni deploy file',
  configure(command: Command): void {
    command
      .argument('<file>', 'a vLLM-Omni deploy file')
      .option('--pipeline <name>', "the pipeline's name in the registry of vLLM-Omni")
      .option('--model <model>', 'checkpoint, for the serve command')
      .option('--hardware <kind>', 'GPU that the memory shares of the file were made for')
      .option('--hardware-file <file>', 'kinds of GPU of your own, in YAML')
      .option('--out <file>', 'write the pipeline there')
  },
  async run(args, options, io) {
    const file = args[0]!
    const out = options.out === undefined ? undefined : String(options.out)
    const own = options.hardwareFile === undefined ? {} : loadHardware(String(options.hardwareFile))
    const kinds: Readonly<Record<string, HardwareKind>> = { ...HARDWARE, ...own }
    const hardware = options.hardware === undefined ? undefined : kinds[String(options.hardware)]
    if (options.hardware !== undefined && hardware === undefined)
      throw new HorizonError('ERR_CLI_OPTION', 'unknown hardware', {
        field: '--hardware',
        expected: `one of ${Object.keys(kinds).join(', ')}`,
        got: options.hardware,
      })
    const base = relative(out === undefined ? '.' : dirname(out), resolve(file))
    const found = importDeploy(loadDeployFile(file), {
      base,
      ...(options.pipeline !== undefined && { pipeline: String(options.pipeline) }),
      ...(options.model !== undefined && { model: String(options.model) }),
      ...(hardware !== undefined && { hardware }),
    })
    if (out === undefined) {
      io.out(found.text)
      return EXIT.ok
    }
    try {
      writeFileSync(out, found.text)
    } catch (error) {
      throw new HorizonError('ERR_CLI_FILE', `cannot write ${out}`, { cause: error })
    }
    io.err(`wrote ${out}\n`)
    for (const note of found.notes) io.err(`${note}\n`)
    return EXIT.ok
  },
}
