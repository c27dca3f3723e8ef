/**
 * @module
 * `horizonserve load`: open-loop load on a running server, classes mixed, each judged by its own SLO.
 */
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { parse as parseYaml } from 'yaml'
import { HorizonError } from '../../core/errors.js'
import {
  discoverClasses,
  type LoadArrivals,
  type LoadResult,
  parseLoadClasses,
  parseLoadResult,
  renderLoadReport,
  runLoad,
  scheduleLoad,
  scheduleTrace,
  summarizeLoad,
} from '../../live/index.js'
import { duration, percent, readTrace } from '../../sim/index.js'
import { readChartLibrary } from '../chart-library.js'
import { type CliCommand, EXIT } from '../command.js'
import { readJson, readText, writeText } from '../files.js'
import { numberOption } from '../number-option.js'
import { createProgressBar } from '../progress-bar.js'
import { textTable } from '../text-table.js'
import { onStop } from '../until-stopped.js'

type Options = Readonly<Record<string, unknown>>

export const command: CliCommand = {
  name: 'load',
  summary: 'Send a seeded mix of text, speech and images to a server; every class has its own SLO',
  configure(command) {
    command
      .argument('<url>', 'of an OpenAI-compatible server, such as http://127.0.0.1:8091')
      .option('--classes <file>', 'what to send, YAML or JSON (default: what the server shows)')
      .option(
        '--rate <r>',
        'requests per second, over all classes (default: 1, or that of a trace)',
      )
      .option('--seconds <s>', 'length of the arrivals (default: 60, or the whole trace)')
      .option(
        '--arrivals <law>',
        'poisson, constant, gamma, weibull, or on-off=SECONDS,SECONDS',
        'poisson',
      )
      .option('--cv <x>', 'coefficient of variation of the gaps, for gamma and weibull', '2')
      .option('--trace <file>', 'arrivals and lengths of a trace, in any form that simulate reads')
      .option('--skip-bad', 'leave broken lines of the trace out and count them')
      .option('--seed <n>', 'same seed, same arrivals, classes and prompts', '1')
      .option('--max-in-flight <n>', 'most requests at once; the wait for a place counts')
      .option('--timeout <s>', 'an answer that has not ended by then has failed', '300')
      .option('--drain <s>', 'after the last arrival, wait this long for answers', '60')
      .option('--wait <s>', 'wait this long for a server that is still starting', '30')
      .option('--model <name>', 'name sent as model (default: the first of /v1/models)')
      .option('--key-file <file>', 'send the key in this file as a bearer token')
      .option('--label <text>', 'name of this run in reports')
      .option('--out <file>', 'write a JSON line per request')
      .option('--report <file>', 'write the HTML report')
      .option('--compare <file>', 'with --report: the --json of another run, side by side')
      .option('--json', 'print one JSON object')
  },
  async run(args, options, io) {
    const url = serverUrl(args[0] as string)
    const number = (name: string, min: number, integer = false): number | undefined =>
      numberOption(options, name, { min, integer })
    const key = options.keyFile === undefined ? undefined : readText(String(options.keyFile)).trim()
    const other =
      options.compare === undefined
        ? []
        : [parseLoadResult(readJson(String(options.compare)), String(options.compare))]
    const found = await discoverClasses(url, key, (number('wait', 0) as number) * 1000)
    const file = options.classes === undefined ? undefined : String(options.classes)
    const classes =
      file === undefined ? found.classes : parseLoadClasses(parseYaml(readText(file)), file)
    const seed = number('seed', Number.NEGATIVE_INFINITY, true) as number
    const schedule = scheduleOf(options, classes, seed)
    const model = options.model === undefined ? found.model : String(options.model)
    if (file === undefined) io.err(`classes: ${found.how}\n`)
    const out = options.out === undefined ? undefined : createWriteStream(String(options.out))
    if (out !== undefined) await opened(out, String(options.out))
    const bar = createProgressBar(io)
    const seen = { met: 0, ended: 0 }
    const stopping = onStop()
    const maxInFlight = number('maxInFlight', 1, true)
    const run = await runLoad({
      url,
      classes,
      schedule,
      seed,
      ...(model === undefined ? {} : { model }),
      ...(key === undefined ? {} : { key }),
      ...(maxInFlight === undefined ? {} : { maxInFlight }),
      timeoutMs: (number('timeout', 0.001) as number) * 1000,
      drainMs: (number('drain', 0) as number) * 1000,
      signal: stopping.signal,
      onRecord(record) {
        out?.write(`${JSON.stringify(record)}\n`)
        seen.ended++
        if (record.outcome === 'met') seen.met++
        bar.show(`${seen.ended} ended, ${seen.met} met`, seen.ended / schedule.size)
      },
    })
    stopping.off()
    bar.clear()
    if (out !== undefined) await finished(out.end())
    const label = options.label === undefined ? {} : { label: String(options.label) }
    const result = summarizeLoad({ run, schedule, classes, url, seed, ...label })
    if (options.json === true) io.out(`${JSON.stringify(result)}\n`)
    else io.out(tableOf(result))
    if (options.report !== undefined) {
      const path = String(options.report)
      writeText(path, renderLoadReport([result, ...other], readChartLibrary()))
      io.err(`report: ${path}\n`)
    }
    for (const reason of result.invalidBecause) io.err(`not valid: ${reason}\n`)
    return result.valid ? EXIT.ok : EXIT.negative
  },
}

function serverUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw new HorizonError('ERR_CLI_OPTION', 'not the address of a server', {
    field: 'url',
    expected: 'such as http://127.0.0.1:8091',
    got: text,
  })
}

function scheduleOf(
  options: Options,
  classes: Parameters<typeof scheduleLoad>[0]['classes'],
  seed: number,
) {
  const rate = numberOption(options, 'rate', { min: 0 })
  const seconds = numberOption(options, 'seconds', { min: 0 })
  if (options.trace !== undefined) {
    const trace = readTrace(String(options.trace), { skipBad: options.skipBad === true, seed })
    return scheduleTrace(trace, { classes, seed, rate, seconds })
  }
  const arrivals = arrivalsOf(String(options.arrivals), options)
  return scheduleLoad({ classes, seed, rate: rate ?? 1, seconds: seconds ?? 60, arrivals })
}

function arrivalsOf(text: string, options: Options): LoadArrivals {
  if (text === 'poisson' || text === 'constant') return { kind: text }
  if (text === 'gamma' || text === 'weibull') {
    return { kind: text, cv: numberOption(options, 'cv', { min: 0.01 }) as number }
  }
  const onOff = /^on-off=([\d.]+),([\d.]+)$/.exec(text)
  if (onOff !== null) {
    return { kind: 'on-off', onSeconds: Number(onOff[1]), offSeconds: Number(onOff[2]) }
  }
  throw new HorizonError('ERR_CLI_OPTION', 'unknown value', {
    field: '--arrivals',
    expected: 'poisson, constant, gamma, weibull, or on-off=SECONDS,SECONDS',
    got: text,
  })
}

/** A path that cannot be written is said before the run, not after it. */
async function opened(stream: NodeJS.WritableStream, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.once('open', () => resolve())
    stream.once('error', (cause) =>
      reject(
        new HorizonError('ERR_CLI_WRITE', 'cannot write the file', {
          field: path,
          cause,
          got: cause.message,
        }),
      ),
    )
  })
}

function tableOf(result: LoadResult): string {
  const rows = Object.entries(result.classes).map(([name, of]) => [
    name,
    `${of.metric} ≤ ${duration(of.sloMs)}`,
    String(of.scheduled),
    percent(of.attainmentOverScheduled),
    duration(of.firstResponseMs.p50),
    duration(of.firstResponseMs.p95),
    duration(of.longestWaitMs),
    String(of.missed),
    String(of.failed),
    String(of.rejected),
    String(of.undetermined),
    of.realTimeFactor.p95 === null ? '–' : String(Number(of.realTimeFactor.p95.toPrecision(3))),
    of.underrunMs.p95 === null ? '–' : String(of.underruns),
  ])
  const head = [
    'class',
    'SLO',
    'scheduled',
    'met %',
    'p50',
    'p95',
    'longest',
    'missed',
    'failed',
    'rejected',
    'undetermined',
    'RTF p95',
    'underruns',
  ]
  return [
    textTable(head, rows),
    `${result.scheduled} scheduled (${result.arrivals}, seed ${result.seed}), ${percent(result.attainmentOverScheduled)} % met; send lag p99 ${duration(result.sendLagMs.p99)}${result.interrupted ? `; interrupted, ${result.notReached} not reached` : ''}\n`,
    ...result.errors.slice(0, 5).map(({ message, count }) => `${count} x ${message}\n`),
  ].join('\n')
}
