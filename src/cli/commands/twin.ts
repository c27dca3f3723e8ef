/**
 * @module
 * `horizonserve twin`: an omni server without a GPU, in real time, until it is told to stop.
 */
import { extname } from 'node:path'
import { parse as parseYaml } from 'yaml'
import { readConfig } from '../../config-file.js'
import { HorizonError } from '../../core/errors.js'
import { type Dashboard, serveDashboard } from '../../dashboard/serve-dashboard.js'
import { createTwin, type Twin, twinDashboard, twinSpec } from '../../live/index.js'
import { GPUS, MODELS, POLICY_CASES } from '../../sim/index.js'
import { type CliCommand, EXIT } from '../command.js'
import { readText } from '../files.js'
import { numberOption, numberRecord } from '../number-option.js'
import { untilStopped } from '../until-stopped.js'

const DIALECTS = ['vllm-omni', 'sglang-omni'] as const

export const command: CliCommand = {
  name: 'twin',
  summary:
    'An OpenAI-compatible omni server without a GPU: real time, simulated model, real scheduler',
  configure(command) {
    command
      .option('--spec <file>', 'what it stands for, YAML or JSON (default: a small built-in model)')
      .option('--model <name>', `instead: ${Object.keys(MODELS).join(', ')}`)
      .option('--gpu <name>', `with --model: ${Object.keys(GPUS).join(', ')}`)
      .option('--set <parameters>', 'override numbers of the model, such as shared.slots=8')
      .option('--policy <name>', POLICY_CASES.map((of) => of.name).join(', '))
      .option('--shed', 'refuse what can no longer meet its SLO, with 429 and Retry-After')
      .option('--config <file>', 'a configuration instead of a policy; its classes are served')
      .option('--dialect <name>', DIALECTS.join(' or '), DIALECTS[0])
      .option('--host <address>', 'where to listen', '127.0.0.1')
      .option('--port <port>', '0 takes a free one', '8091')
      .option('--key-file <file>', 'ask for the key in this file, as a bearer token')
      .option('--max-body-mb <n>', 'largest request body', '64')
      .option('--max-connections <n>', 'connections at once', '4096')
      .option('--max-requests <n>', 'requests at once; more get 503', '4096')
      .option('--ui [port]', 'a dashboard on 127.0.0.1; without a port, a free one')
      .option('--json', 'print one line of JSON with the URL when ready')
      .option('--for <seconds>', 'stop by itself after this time')
  },
  async run(_args, options, io) {
    const whole = { min: 1, integer: true }
    const key = options.keyFile === undefined ? undefined : readKey(String(options.keyFile))
    if (options.policy !== undefined && options.config !== undefined) {
      throw new HorizonError('ERR_CLI_OPTION', 'a configuration brings its own policy', {
        field: '--policy',
        expected: 'either --policy or --config',
      })
    }
    const twin = await createTwin({
      spec: twinSpec(specOf(options)),
      ...(options.policy === undefined ? {} : { policy: String(options.policy) }),
      ...(options.config === undefined ? {} : { config: await readConfig(String(options.config)) }),
      sheds: options.shed === true,
      dialect: dialectOf(String(options.dialect)),
      host: String(options.host),
      port: numberOption(options, 'port', { min: 0, max: 65_535, integer: true }) as number,
      ...(key === undefined ? {} : { key }),
      limits: {
        maxBodyBytes: (numberOption(options, 'maxBodyMb', { min: 0.001 }) as number) * 2 ** 20,
        maxConnections: numberOption(options, 'maxConnections', whole) as number,
      },
      maxRequests: numberOption(options, 'maxRequests', { ...whole, max: 65_536 }) as number,
    })
    const dashboard = options.ui === undefined ? undefined : await openDashboard(twin, options)
    if (dashboard !== undefined) io.err(`dashboard on ${dashboard.url}\n`)
    if (options.json === true) {
      const ui = dashboard === undefined ? {} : { ui: dashboard.url }
      io.out(`${JSON.stringify({ url: twin.url, ...ui })}\n`)
    } else {
      io.out(`${twin.url}\n`)
      const names = twin.classes.map((of) => `${of.name} (SLO ${of.slo.ms} ms)`).join(', ')
      io.err(`simulated ${twin.spec.name}, policy ${twin.policy}; classes: ${names}\n`)
    }
    if (key === undefined && !['127.0.0.1', '::1', 'localhost'].includes(String(options.host))) {
      io.err('anybody who reaches this address may use it: consider --key-file\n')
    }
    await untilStopped(numberOption(options, 'for', { min: 0, max: 1e6 }))
    await dashboard?.close()
    await twin.close()
    return EXIT.ok
  },
}

function openDashboard(twin: Twin, options: Record<string, unknown>): Promise<Dashboard> {
  const port =
    options.ui === true
      ? 0
      : (numberOption(options, 'ui', { min: 0, max: 65_535, integer: true }) as number)
  return serveDashboard(twinDashboard(twin), port)
}

function specOf(options: Record<string, unknown>): unknown {
  const set =
    options.set === undefined ? {} : numberRecord(String(options.set), '--set', { min: 0 })
  const file = options.spec === undefined ? {} : readSpec(String(options.spec))
  if (typeof file !== 'object' || file === null) return file
  const from = file as { set?: object }
  return {
    ...from,
    ...(options.model === undefined ? {} : { base: options.model }),
    ...(options.gpu === undefined ? {} : { gpu: options.gpu }),
    set: { ...from.set, ...set },
  }
}

function readSpec(path: string): unknown {
  const text = readText(path)
  try {
    return extname(path) === '.json' ? JSON.parse(text) : (parseYaml(text) ?? {})
  } catch (cause) {
    throw new HorizonError('ERR_CLI_READ', 'not valid YAML or JSON', {
      field: path,
      got: cause instanceof Error ? cause.message.split('\n')[0] : cause,
      cause,
    })
  }
}

function readKey(path: string): string {
  const key = readText(path).trim()
  if (key !== '') return key
  throw new HorizonError('ERR_CLI_READ', 'the key file is empty', { field: path })
}

function dialectOf(name: string): (typeof DIALECTS)[number] {
  const found = DIALECTS.find((of) => of === name)
  if (found !== undefined) return found
  throw new HorizonError('ERR_CLI_OPTION', 'unknown value', {
    field: '--dialect',
    expected: DIALECTS.join(', '),
    got: name,
  })
}
