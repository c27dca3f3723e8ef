/**
 * @module
 * `horizonserve pick`: the endpoint picker of a gateway, until it is told to stop.
 */
import { readConfig } from '../../config-file.js'
import { HorizonError } from '../../core/errors.js'
import {
  createPicker,
  fileEndpoints,
  parseEndpoints,
  serveExtProc,
  staticEndpoints,
  type Trust,
} from '../../fleet/index.js'
import { endpointRule } from '../../policies/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { numberOption } from '../number-option.js'

const TRUST = ['none', 'trusted-hops', 'all'] as const

export const command: CliCommand = {
  name: 'pick',
  summary: 'Pick the endpoint of each request for a gateway (Envoy external processing)',
  configure(command) {
    command
      .requiredOption('--config <file>', 'configuration with the classes and their SLOs')
      .option('--endpoints <file>', 'file with the endpoints, watched; an Envoy EDS file will do')
      .option('--static <ip:port,…>', 'endpoints that never change')
      .option('--listen <ip:port>', 'where the gateway finds the picker', '127.0.0.1:9002')
      .option('--scrape-ms <ms>', 'between two scrapes of an endpoint', '50')
      .option('--margin <x>', 'share of the time left that a prediction may take', '0.5')
      .option('--shed <classes>', 'refuse these, 429, when every endpoint would lose them')
      .option('--trust <who>', `who may set an SLO or a class: ${TRUST.join(', ')}`, 'none')
      .option('--trusted-hops <list>', 'addresses or networks, with --trust trusted-hops')
      .option('--max-body-mb <n>', 'largest request body', '64')
  },
  async run(_args, options, io) {
    const list = (name: string): string[] =>
      options[name] === undefined ? [] : String(options[name]).split(',')
    const say = (text: string): void => io.err(`${new Date().toISOString()} ${text}\n`)
    if ((options.endpoints === undefined) === (options.static === undefined)) {
      throw new HorizonError('ERR_CLI_OPTION', 'where are the endpoints?', {
        field: '--endpoints',
        expected: 'one of --endpoints and --static',
      })
    }
    const trust = String(options.trust)
    if (!(TRUST as readonly string[]).includes(trust)) {
      throw new HorizonError('ERR_CLI_OPTION', 'unknown value', {
        field: '--trust',
        expected: TRUST.join(', '),
        got: trust,
      })
    }
    const picker = createPicker({
      config: await readConfig(String(options.config)),
      endpoints:
        options.static === undefined
          ? fileEndpoints(String(options.endpoints), (error) => say(error.message))
          : staticEndpoints(parseEndpoints(String(options.static))),
      rule: endpointRule({ margin: numberOption(options, 'margin') as number }),
      scrapeMs: numberOption(options, 'scrapeMs', { min: 1, max: 600_000 }) as number,
      shed: list('shed'),
      trust: trust as Trust,
      trustedHops: list('trustedHops'),
    })
    const server = await serveExtProc({
      picker,
      listen: String(options.listen),
      maxBodyBytes:
        2 ** 20 * (numberOption(options, 'maxBodyMb', { min: 0.001, max: 1024 }) as number),
    })
    say(`picking on port ${server.port}`)
    await new Promise<void>((resolve) => {
      process.once('SIGTERM', resolve)
      process.once('SIGINT', resolve)
    })
    await server.stop()
    say(`stopped after ${picker.picked} requests`)
    return EXIT.ok
  },
}
