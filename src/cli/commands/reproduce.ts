/**
 * @module
 * `horizonserve reproduce`: the paper's figures and tables, and ours, on the simulated runtime; a Markdown file and one HTML page.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { HorizonError } from '../../core/index.js'
import {
  type Budget,
  createLaboratory,
  createResultStore,
  DEFAULT_BUDGET,
  EXHIBITS,
  exhibits,
  FULL_BUDGET,
  readTrace,
  renderMarkdown,
  renderResultsPage,
  resultsDocument,
  resultsOf,
  runFleetStudy,
  runJobs,
  type Trace,
} from '../../sim/index.js'
import { readChartLibrary } from '../chart-library.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { expectWritable, writeText } from '../files.js'
import { numberOption } from '../number-option.js'
import { createProgressBar } from '../progress-bar.js'

const TRACES = {
  'azure-conv': 'AzureLLMInferenceTrace_conv.csv',
  'azure-code': 'AzureLLMInferenceTrace_code.csv',
} as const

function configure(command: Command): void {
  const ids = EXHIBITS.map((of) => of.id).join(', ')
  command
    .argument('[exhibits...]', `all of them, or some of ${ids}`)
    .option('--full', 'twenty paired seeds and 400 random worlds instead of a few: hours')
    .option('--seeds <n>', `paired seeds a point (default: ${DEFAULT_BUDGET.seeds})`)
    .option(
      '--our-seeds <n>',
      'the same where ours are held against HorizonServe as printed (default: as --seeds)',
    )
    .option('--minutes <m>', 'virtual minutes of arrivals a point', String(DEFAULT_BUDGET.minutes))
    .option(
      '--fleet',
      'the fleet study instead: pickers before several engines (its runs are kept beside --results)',
    )
    .option('--engines <n>', 'engines of the fleet study', '8')
    .option('--draws <n>', `random worlds (default: ${DEFAULT_BUDGET.draws})`)
    .option('--traces <folder>', 'folder with the Azure traces of 2023, for real arrivals')
    .option(
      '--results <path>',
      'JSON lines of finished runs; a second call goes on from there',
      'out/reproduce.jsonl',
    )
    .option('--markdown <path>', 'where the tables go (default: standard output)')
    .option('--page <path>', 'also write one HTML page with charts')
}

async function run(
  ids: readonly string[],
  options: Record<string, unknown>,
  io: CliIo,
): Promise<number> {
  if (options.fleet === true) return runFleet(ids, options, io)
  const chosen = exhibits(ids)
  const folder = options.traces === undefined ? undefined : String(options.traces)
  if (folder !== undefined) requireTraces(folder)
  const budget = budgetOf(options, folder !== undefined)
  const traces = new Map<string, Trace>()
  const lab = createLaboratory({
    trace(name) {
      const found = traces.get(name) ?? readTrace(join(folder ?? '.', TRACES[name]))
      traces.set(name, found)
      return found
    },
  })
  const path = resolve(String(options.results))
  mkdirSync(dirname(path), { recursive: true })
  const store = createResultStore(path)
  const bar = createProgressBar(io)
  for (const path of [options.markdown, options.page])
    if (path !== undefined) expectWritable(resolve(String(path)))
  runJobs(
    lab,
    store,
    chosen.flatMap((of) => of.jobs(budget, lab)),
    ({ point, policy }, share) => bar.show(`${point.model}, ${point.rate}/s, ${policy}`, share),
  )
  bar.clear()
  const results = resultsOf(store)
  const command = commandLine(ids, options)
  const document = resultsDocument(
    chosen.map((of) => of.section(budget, results, lab)),
    budget,
    command,
  )
  const markdown = renderMarkdown(document)
  if (options.markdown === undefined) io.out(markdown)
  else {
    writeText(resolve(String(options.markdown)), markdown)
    io.out(`results: ${String(options.markdown)}\n`)
  }
  if (options.page !== undefined) {
    writeText(resolve(String(options.page)), renderResultsPage(document, readChartLibrary()))
    io.err(`page: ${String(options.page)}\n`)
  }
  return EXIT.ok
}

/** Its seeds are paired too; a point is 5 virtual minutes unless more are asked for, since it is that of a whole fleet. */
async function runFleet(
  ids: readonly string[],
  options: Record<string, unknown>,
  io: CliIo,
): Promise<number> {
  if (ids.length > 0) {
    throw new HorizonError('ERR_CLI_OPTION', 'the fleet study stands alone', {
      field: '--fleet',
      got: ids.join(' '),
      hint: 'Leave the figures and tables out',
    })
  }
  const given = String(options.minutes) === String(DEFAULT_BUDGET.minutes) ? '5' : options.minutes
  const budget = {
    seeds: budgetOf(options, false).seeds,
    minutes: numberOption({ minutes: given }, 'minutes', { min: 0.5, max: 1e4 }) as number,
    engines: numberOption(options, 'engines', { min: 1, max: 64, integer: true }) as number,
  }
  const path = resolve(String(options.results).replace(/(\.jsonl)?$/, '-fleet.jsonl'))
  mkdirSync(dirname(path), { recursive: true })
  const bar = createProgressBar(io)
  const section = runFleetStudy(createLaboratory(), path, budget, (what, share) =>
    bar.show(what, share),
  )
  bar.clear()
  const markdown = renderMarkdown({
    title: 'Fleet',
    intro: [
      `Made by \`horizonserve reproduce --fleet --seeds ${budget.seeds} --minutes ${budget.minutes} --engines ${budget.engines}\`. Everything here is simulated.`,
    ],
    sections: [section],
  })
  if (options.markdown === undefined) io.out(markdown)
  else {
    writeText(resolve(String(options.markdown)), markdown)
    io.out(`results: ${String(options.markdown)}\n`)
  }
  return EXIT.ok
}

function budgetOf(options: Record<string, unknown>, traces: boolean): Budget {
  const base = options.full === true ? FULL_BUDGET : DEFAULT_BUDGET
  const seeds = numberOption(options, 'seeds', { min: 1, max: 1000, integer: true })
  return {
    seeds: seeds ?? base.seeds,
    ourSeeds: Math.max(
      numberOption(options, 'ourSeeds', { min: 1, max: 1000, integer: true }) ?? 0,
      seeds ?? base.ourSeeds,
    ),
    minutes: numberOption(options, 'minutes', { min: 0.5, max: 1e5 }) ?? base.minutes,
    longRunPerClass: base.longRunPerClass,
    oneAtATime: base.oneAtATime,
    draws: numberOption(options, 'draws', { min: 0, max: 100_000, integer: true }) ?? base.draws,
    traces,
  }
}

function requireTraces(folder: string): void {
  for (const name of Object.values(TRACES)) {
    if (existsSync(join(folder, name))) continue
    throw new HorizonError('ERR_CLI_OPTION', 'a trace is missing', {
      field: '--traces',
      expected: `${name} in the folder`,
      got: folder,
    })
  }
}

/** What was asked for, without where results go. */
function commandLine(ids: readonly string[], options: Record<string, unknown>): string {
  const words = ['horizonserve reproduce', ...ids]
  if (options.full === true) words.push('--full')
  for (const [name, flag] of [
    ['seeds', 'seeds'],
    ['ourSeeds', 'our-seeds'],
    ['minutes', 'minutes'],
    ['draws', 'draws'],
    ['traces', 'traces'],
  ] as const) {
    if (options[name] !== undefined) words.push(`--${flag} ${String(options[name])}`)
  }
  return words.join(' ')
}

export const command: CliCommand = {
  name: 'reproduce',
  summary: 'the paper’s figures and tables on the simulated runtime',
  configure,
  run,
}
