/**
 * @module
 * `horizonserve simulate`: policies side by side on the simulated omni runtime, under a seeded workload or a recorded trace.
 */
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config-file.js'
import { HorizonError } from '../../core/index.js'
import {
  type ArrivalProcess,
  buildReportData,
  calibrate,
  collect,
  DEFAULT_POLICIES,
  GPUS,
  type GpuName,
  generateWorkload,
  MODELS,
  type ModelName,
  mixByLongFraction,
  mixByWeights,
  type OmniSpec,
  omniSpec,
  overlayTrace,
  PICKER_CASES,
  POLICY_CASES,
  type PolicyCase,
  policyCases,
  readTrace,
  renderReport,
  simulate,
  simulatedTarget,
  TEXT_LENGTHS,
  type TextLengthsName,
  type TimeUnit,
  type Workload,
} from '../../sim/index.js'
import { readChartLibrary } from '../chart-library.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { expectWritable, writeText } from '../files.js'
import { numberOption, numberRecord, optionName, parseNumber } from '../number-option.js'
import { createProgressBar } from '../progress-bar.js'
import { FLEET_OPTIONS, simulateFleet } from '../simulate-fleet.js'
import { attainmentText } from '../simulation-text.js'

type Options = Readonly<Record<string, unknown>>

const DEMO = { rate: '0.45', requests: '1200', report: 'horizonserve-report.html' }

/** A world with back-pressure (docs/simulator.md, "Worlds"). */
const HELD = 'handOver.mechanism=1,downstream.slots=1'

function configure(command: Command): void {
  const names = (of: object): string => Object.keys(of).join(', ')
  command
    .option('--model <name>', names(MODELS), 'qwen2.5-omni')
    .option('--gpu <name>', names(GPUS), 'rtx-6000-ada')
    .option(
      '--policies <names>',
      `comma-separated, of ${POLICY_CASES.map((of) => of.name).join(', ')}`,
      DEFAULT_POLICIES.join(','),
    )
    .option(
      '--config <path>',
      'compare the policy of a configuration file too, under the name "config"',
    )
    .option(
      '--trace <path>',
      'replay a trace: Azure, BurstGPT, Bailian, Mooncake, or plain CSV or JSON lines; gzip too; - for standard input',
    )
    .option('--skip-bad', 'leave broken lines of the trace out and count them')
    .option('--sort', 'put the requests of the trace in order of their times')
    .option('--time-unit <unit>', 's or ms, where the trace does not say it and its form misleads')
    .option(
      '--rate <r>',
      'requests per second; "trace" keeps the times of a trace (default: 0.35, or "trace" with --trace)',
    )
    .option('--long-fraction <x>', 'share of long-path requests', '0.3')
    .option('--mix <weights>', 'class weights instead, such as t2t=3,a2t=1,t2a=1')
    .option('--arrivals <law>', 'poisson, gamma or weibull (default: poisson)')
    .option('--cv <x>', 'coefficient of variation of the gaps, for gamma and weibull (default: 2)')
    .option('--lengths <name>', `text lengths: ${names(TEXT_LENGTHS)} (default: sharegpt)`)
    .option('--minutes <m>', 'virtual minutes of arrivals (default: 60)')
    .option('--requests <n>', 'number of requests instead of minutes; of a trace, its first ones')
    .option('--seed <n>', 'same seed, same bytes', '1')
    .option('--slo-multiplier <x>', 'SLO over solo p95', '5')
    .option('--set <parameters>', 'override parameters of the model, such as shared.slots=8')
    .option(
      '--engines <n>',
      'so many engines behind a picker, 1 to 64; compares pickers, not policies',
    )
    .option(
      '--pickers <names>',
      `with --engines: comma-separated, of ${PICKER_CASES.map((of) => of.name).join(', ')}`,
    )
    .option('--picker-replicas <n>', 'with --engines: pickers side by side, 1 to 8 (default: 1)')
    .option('--scrape-ms <ms>', 'with --engines: between two scrapes of an engine (default: 50)')
    .option(
      '--scrape-delay-ms <ms>',
      'with --engines: how old a scrape is when it is there (default: 5)',
    )
    .option(
      '--engine-gpus <names>',
      'with --engines: GPUs of the engines in turn, instead of --gpu',
    )
    .option('--lose <engine@seconds>', 'with --engines: engines that die, such as 0@60,3@90')
    .option('--json', 'print one JSON object')
    .option('--report <path>', 'also write the HTML report')
    .option('--demo', `a short run with a report (${DEMO.report})`)
}

async function run(_args: readonly string[], given: Options, io: CliIo): Promise<number> {
  const options: Options = given.demo === true ? { ...given, ...demoDefaults(given) } : given
  // Which of the two a server is, is not published: a demo shows both, unless the user sets a world.
  if (given.demo !== true || given.set !== undefined || given.json === true)
    return compare(options, io)
  io.out(`World 1 of 2: a request gives its place back at its last token\n`)
  const code = await compare(options, io)
  io.out(
    `\nWorld 2 of 2: a long-path request keeps its place until the one downstream place takes it (--set ${HELD})\n`,
  )
  const { report: _of1, ...second } = options
  return code === EXIT.ok ? compare({ ...second, set: HELD }, io) : code
}

async function compare(options: Options, io: CliIo): Promise<number> {
  const report = options.report === undefined ? undefined : resolve(String(options.report))
  if (report !== undefined) expectWritable(report)
  const cases = [
    ...policyCases(String(options.policies).split(',')),
    ...(await configCase(options)),
  ]
  const seed = numberOption(options, 'seed', { integer: true }) as number
  const overrides =
    options.set === undefined ? {} : numberRecord(String(options.set), '--set', { min: 0 })
  const spec = omniSpec(options.gpu as GpuName, options.model as ModelName, overrides)
  const workload = makeWorkload(spec, options, seed, io)
  const multiplier = numberOption(options, 'sloMultiplier', { min: 0.001 }) as number
  if (options.engines !== undefined)
    return simulateFleet({ spec, workload, options, seed, multiplier, overrides, io })
  refuse(options, FLEET_OPTIONS, 'give --engines too')
  const bar = createProgressBar(io)
  const { solo, sweep } = collect(simulatedTarget(spec, workload), {
    requestsPerClass: 100,
    onProgress: (what, share) => bar.show(`calibrating: ${what}`, share),
  })
  const calibration = calibrate(solo, sweep, { totalSms: spec.totalSms, multiplier })
  const runs = cases.map((of, i) => ({
    of,
    result: simulate({
      runtime: spec,
      workload,
      policy: of,
      calibration,
      onProgress: (ended) =>
        bar.show(of.name, (i + ended / Math.max(1, workload.size)) / cases.length),
    }),
  }))
  bar.clear()
  const data = buildReportData({ spec, workload, seed, calibration, runs })
  if (report !== undefined) writeText(report, renderReport(data, readChartLibrary()))
  if (options.json === true) io.out(`${JSON.stringify(data)}\n`)
  else io.out(attainmentText(data))
  if (report !== undefined) (options.json === true ? io.err : io.out)(`report: ${report}\n`)
  return EXIT.ok
}

/** Only the policy of a configuration is used: SLOs, profiles and ladder are the simulated runtime's own. */
async function configCase(options: Options): Promise<PolicyCase[]> {
  if (options.config === undefined) return []
  const { policy } = await loadConfig(String(options.config))
  const about = `the policy of ${options.config}`
  return [{ name: 'config', about, sharing: 'green-contexts', policy: () => policy }]
}

/** Demo values, except where the user gave an option of that kind. */
function demoDefaults(given: Options): Options {
  const { rate, requests, report } = DEMO
  return {
    rate: given.rate ?? rate,
    report: given.report ?? report,
    ...(given.minutes === undefined ? { requests: given.requests ?? requests } : {}),
  }
}

function makeWorkload(spec: OmniSpec, options: Options, seed: number, io: CliIo): Workload {
  const longFraction = numberOption(options, 'longFraction', { min: 0, max: 1 }) as number
  const weights =
    options.mix === undefined ? undefined : numberRecord(String(options.mix), '--mix', { min: 0 })
  const requests = numberOption(options, 'requests', { min: 1, max: 10_000_000, integer: true })
  if (options.trace !== undefined) {
    refuse(options, ['minutes', 'arrivals', 'cv', 'lengths'], 'a trace has its own')
    const path = String(options.trace)
    const trace = readTrace(path, {
      skipBad: options.skipBad === true,
      sort: options.sort === true,
      timeUnit: timeUnit(options),
      requests,
      seed,
    })
    for (const warning of trace.warnings) io.err(`warning: ${basename(path)}: ${warning}\n`)
    // A trace of text says nothing of media: only output modalities are laid over it, unless a mix asks for more.
    const mix =
      weights === undefined
        ? mixByLongFraction(spec.classes, longFraction, (of) => of.input === 'text')
        : mixByWeights(spec.classes, weights)
    const rate = options.rate ?? 'trace'
    return overlayTrace(trace, basename(path), {
      spec,
      mix,
      seed,
      rate: rate === 'trace' ? 'trace' : parseNumber(String(rate), '--rate', { min: 1e-6 }),
    })
  }
  if (options.rate === 'trace') {
    throw new HorizonError('ERR_CLI_OPTION', 'there is no trace whose times could be kept', {
      field: '--rate',
      hint: 'Give a number, or a --trace',
    })
  }
  refuse(options, ['skipBad', 'sort', 'timeUnit'], 'there is no --trace')
  if (requests !== undefined) refuse(options, ['minutes'], 'not with --requests')
  const minutes = numberOption(options, 'minutes', { min: 0.01, max: 1e6 }) ?? 60
  return generateWorkload({
    spec,
    mix:
      weights === undefined
        ? mixByLongFraction(spec.classes, longFraction)
        : mixByWeights(spec.classes, weights),
    rate: numberOption(options, 'rate', { min: 1e-6 }) ?? 0.35,
    arrivals: arrivalProcess(options),
    lengths: lengthsName(String(options.lengths ?? 'sharegpt')),
    extent: requests === undefined ? { minutes } : { requests },
    seed,
  })
}

function timeUnit(options: Options): TimeUnit | undefined {
  const unit = options.timeUnit
  if (unit === undefined || unit === 's' || unit === 'ms') return unit
  throw new HorizonError('ERR_CLI_OPTION', 'unknown unit', {
    field: '--time-unit',
    expected: 's or ms',
    got: unit,
  })
}

/** An option that would be ignored is a mistake: the user expects it to do something. */
function refuse(options: Options, names: readonly string[], hint: string): void {
  for (const name of names) {
    if (options[name] === undefined) continue
    const field = optionName(name)
    throw new HorizonError('ERR_CLI_OPTION', 'has no effect here', { field, hint })
  }
}

function arrivalProcess(options: Options): ArrivalProcess {
  const kind = String(options.arrivals ?? 'poisson')
  if (kind === 'poisson') return { kind }
  if (kind === 'gamma' || kind === 'weibull') {
    return { kind, cv: numberOption(options, 'cv', { min: 0.05, max: 50 }) ?? 2 }
  }
  throw new HorizonError('ERR_CLI_OPTION', 'unknown law of arrivals', {
    field: '--arrivals',
    expected: 'poisson, gamma or weibull',
    got: kind,
  })
}

function lengthsName(name: string): TextLengthsName {
  if (Object.hasOwn(TEXT_LENGTHS, name)) return name as TextLengthsName
  throw new HorizonError('ERR_CLI_OPTION', 'unknown law of lengths', {
    field: '--lengths',
    expected: Object.keys(TEXT_LENGTHS).join(', '),
    got: name,
  })
}

export const command: CliCommand = {
  name: 'simulate',
  summary: 'compare policies on the simulated omni runtime, no GPU needed',
  configure,
  run,
}
