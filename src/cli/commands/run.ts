/**
 * @module
 * `horizonserve run`: the controller of a server's engines, until it is told to stop.
 */
import type { AddressInfo } from 'node:net'
import { segmentPath } from '../../adapters/discover.js'
import { CONTROLLER_BEAT_MS } from '../../adapters/layout.js'
import { readConfig } from '../../config-file.js'
import { watchConfig } from '../../controller/config-watch.js'
import { type ControllerDashboard, dashboardSource } from '../../controller/dashboard-source.js'
import { PRESSURE_CHOICES } from '../../controller/pressure-sampler.js'
import { serveMetrics } from '../../controller/prometheus.js'
import {
  createServerController,
  type ServerController,
} from '../../controller/server-controller.js'
import { HorizonError } from '../../core/errors.js'
import { serveDashboard } from '../../dashboard/serve-dashboard.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'

const LOOK_MS = 200
const LEVELS = ['silent', 'warn', 'info', 'decisions'] as const
const MODES = ['auto', 'published', 'lockstep'] as const

export const command: CliCommand = {
  name: 'run',
  summary: 'Steer an engine: attach over shared memory, decide, publish, report',
  configure(command) {
    command
      .requiredOption(
        '--config <file>',
        'configuration, YAML or JSON; a change is taken up at once, a bad one refused',
      )
      .option('--segment <name>', 'name of the engine, as in HORIZONSERVE_SEGMENT', 'default')
      .option('--mode <mode>', `how the engine is told: ${MODES.join(', ')}`, 'auto')
      .option(
        '--wait',
        'wait for an engine that is not there yet, and stand by while another controller steers it',
        false,
      )
      .option('--metrics-port <port>', 'Prometheus text on 127.0.0.1; 0 takes a free port')
      .option(
        '--merge-metrics <url>',
        "the engine's own metrics page, to be served after ours on the same port",
      )
      .option('--poll-ms <ms>', 'how often events are read and the state is renewed', '2')
      .option(
        '--spin-us <us>',
        'lockstep: look this long before sleeping; needs a core to spare',
        '0',
      )
      .option(
        '--pressure <source>',
        `memory pressure, whatever the configuration says: ${PRESSURE_CHOICES.join(', ')}`,
      )
      .option(
        '--share <percent>',
        'of the time under the policy; outside it everything is computed and shown, and nothing is hidden',
        '100',
      )
      .option(
        '--observe',
        'only watch: the same as --share 0; SIGUSR2 changes it while it runs',
        false,
      )
      .option('--ui [port]', 'a dashboard on 127.0.0.1; without a port, a free one')
      .option('--record <file>', 'write every event and decision, for `horizonserve replay`')
      .option('--record-mb <n>', 'most megabytes of it', '256')
      .option('--log <level>', `what to tell: ${LEVELS.join(', ')}`, 'info')
      .option('--for <seconds>', 'stop by itself after this time')
  },
  async run(_args, options, io) {
    const file = String(options.config)
    const level = LEVELS.indexOf(oneOf('--log', String(options.log), LEVELS))
    const say = (needed: number, text: string): void => {
      if (level >= needed) io.err(`${new Date().toISOString()} ${text}\n`)
    }
    const mergeUrl = mergeUrlOf(options)
    const config = await readConfig(file)
    const controller = createServerController({
      name: String(options.segment),
      config,
      picture: options.ui !== undefined,
      mode: oneOf('--mode', String(options.mode), MODES),
      pollMs: numberOption('--poll-ms', options.pollMs, 1, CONTROLLER_BEAT_MS),
      spinUs: numberOption('--spin-us', options.spinUs, 0, 1000),
      ...(options.pressure === undefined
        ? {}
        : { pressure: oneOf('--pressure', String(options.pressure), PRESSURE_CHOICES) }),
      share: shareOf(options),
      ...(options.record === undefined
        ? {}
        : {
            record: {
              path: String(options.record),
              maxBytes: numberOption('--record-mb', options.recordMb, 1, 100_000) * 2 ** 20,
            },
          }),
      log: (kind, text) => say(kind === 'warn' ? 1 : 2, text),
    })
    if (options.wait === true) controller.watch()
    else if (!controller.attach()) {
      throw new HorizonError('ERR_ADAPTERS_SEGMENT_UNAVAILABLE', 'no engine to steer', {
        expected: segmentPath(String(options.segment)),
        hint: 'Start the engine with the horizonserve scheduler, or pass --wait',
      })
    }
    const server =
      options.metricsPort === undefined
        ? undefined
        : await serveMetrics(
            numberOption('--metrics-port', options.metricsPort, 0, 65_535),
            controller.report,
            mergeUrl,
          )
    if (server !== undefined) {
      say(2, `metrics on http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
    }
    const source = dashboardSource(
      `horizonserve run, engine ${String(options.segment)}`,
      controller.report,
      () => controller.mode,
      config,
    )
    const dashboard =
      options.ui === undefined
        ? undefined
        : await serveDashboard(
            source,
            options.ui === true ? 0 : numberOption('--ui', options.ui, 0, 65_535),
          )
    if (dashboard !== undefined) say(2, `dashboard on ${dashboard.url}`)
    try {
      await untilStopped(
        file,
        options,
        io,
        controller,
        source,
        say,
        level === LEVELS.indexOf('decisions'),
      )
    } finally {
      await dashboard?.close()
      await controller.stop()
      server?.close()
    }
    say(2, 'stopped; the engine goes on by itself')
    return EXIT.ok
  },
}

/** Looks after the engine until SIGTERM, SIGINT or the time given; takes up changes of the file. */
async function untilStopped(
  file: string,
  options: Record<string, unknown>,
  io: CliIo,
  controller: ServerController,
  source: ControllerDashboard,
  say: (needed: number, text: string) => void,
  tellsDecisions: boolean,
): Promise<void> {
  const reload = async (): Promise<void> => {
    try {
      const next = await readConfig(file)
      await controller.reload(next)
      source.reloaded(next)
      say(2, `reloaded ${file}, ${controller.mode}`)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      source.refused(why)
      say(1, `${file} is refused, the configuration before it stays in force: ${why}`)
    }
  }
  const changes = watchConfig(file, {
    onChange: reload,
    onMissing: () => say(1, `${file} is gone; the configuration before stays in force`),
  })
  const soon = (): void => changes.now()
  const full = shareOf({ ...options, observe: false })
  let isWatching = shareOf(options) === 0
  /** The switch: from the policy to watching alone, at once, and back. */
  const change = (): void => {
    isWatching = !isWatching
    controller.setShare(isWatching ? 0 : full === 0 ? 1 : full).then(
      () => say(2, isWatching ? 'only watching; nothing is hidden' : 'the policy is in force'),
      (error: unknown) => say(1, error instanceof Error ? error.message : String(error)),
    )
  }
  let lastStep = -1
  await new Promise<void>((resolve, reject) => {
    const look = setInterval(() => {
      try {
        controller.watch()
      } catch (error) {
        reject(error as Error)
        return
      }
      const report = controller.report()
      if (!tellsDecisions || report === undefined || report.step === lastStep) return
      lastStep = report.step
      io.out(
        `${JSON.stringify({ step: report.step, phase: report.phase, n: report.n, waiting: report.waiting, hidden: report.hidden, capSms: report.capSms, level: report.level })}\n`,
      )
    }, LOOK_MS)
    const end = (): void => {
      clearInterval(look)
      changes.close()
      process.off('SIGTERM', end)
      process.off('SIGINT', end)
      process.off('SIGHUP', soon)
      process.off('SIGUSR2', change)
      resolve()
    }
    process.on('SIGTERM', end)
    process.on('SIGINT', end)
    process.on('SIGHUP', soon)
    process.on('SIGUSR2', change)
    if (options.for !== undefined)
      setTimeout(end, numberOption('--for', options.for, 0, 1e6) * 1000)
  })
}

function mergeUrlOf(options: Record<string, unknown>): URL | undefined {
  if (options.mergeMetrics === undefined) return undefined
  const field = '--merge-metrics'
  if (options.metricsPort === undefined) {
    throw new HorizonError('ERR_CLI_OPTION', 'there is no page to merge into', {
      field,
      expected: '--metrics-port beside it',
      got: 'none',
    })
  }
  const text = String(options.mergeMetrics)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password === '')
    return url
  throw new HorizonError('ERR_CLI_OPTION', 'not a page that can be read', {
    field,
    expected: 'http://HOST:PORT/metrics, without a user or password',
    got: text,
  })
}

function shareOf(options: Record<string, unknown>): number {
  if (options.observe === true) return 0
  return numberOption('--share', options.share, 0, 100) / 100
}

function oneOf<T extends string>(field: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T
  throw new HorizonError('ERR_CLI_OPTION', 'unknown value', {
    field,
    expected: allowed.join(', '),
    got: value,
  })
}

function numberOption(field: string, value: unknown, min: number, max: number): number {
  const number = Number(value)
  if (value !== '' && number >= min && number <= max) return number
  throw new HorizonError('ERR_CLI_OPTION', 'impossible value', {
    field,
    expected: `a number from ${min} to ${max}`,
    got: value,
  })
}
