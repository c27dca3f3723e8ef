/**
 * @module
 * `horizonserve init`: writes a commented configuration to start from. Never overwrites one unless told to.
 */
import { existsSync } from 'node:fs'
import { HorizonError } from '../../core/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { CONFIG_TEMPLATE } from '../config-template.js'
import { writeText } from '../files.js'

export const command: CliCommand = {
  name: 'init',
  summary: 'write a commented configuration to start from',
  configure(command) {
    command
      .argument('[path]', 'where to write (default: horizonserve.yaml)')
      .option('--force', 'overwrite an existing file')
  },
  async run(args, options, io) {
    const path = args[0] ?? 'horizonserve.yaml'
    if (options.force !== true && existsSync(path)) {
      throw new HorizonError('ERR_CLI_EXISTS', 'the file exists', {
        field: path,
        hint: 'Give another path, or --force to overwrite it',
      })
    }
    writeText(path, CONFIG_TEMPLATE)
    io.out(`configuration: ${path}\n`)
    return EXIT.ok
  },
}
