/**
 * @module
 * `horizonserve attach`: measures a running server from outside and writes what `calibrate` reads and a complete configuration.
 */
import type { Command } from 'commander'
import { HorizonError } from '../../core/index.js'
import {
  type Attached,
  attach,
  attachedConfig,
  attachedYaml,
  CLASS_NAMES,
  heldOutError,
  httpServer,
  probeClasses,
  readFacts,
  refreshYaml,
  type ServerFacts,
} from '../../live/index.js'
import { formatSoloRecords } from '../../sim/index.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { readText, writeText } from '../files.js'
import { numberOption } from '../number-option.js'
import { textTable } from '../text-table.js'

type Options = Readonly<Record<string, unknown>>

function configure(command: Command): void {
  command
    .argument('<url>', 'an idle server, such as http://127.0.0.1:8091')
    .option('--out <file>', 'the configuration', 'horizon.yaml')
    .option('--refresh <file>', 'bring this configuration up to date instead, and say what changed')
    .option('--solo <file>', 'solo records, for `calibrate`', 'solo.jsonl')
    .option('--classes <names>', `only these: ${CLASS_NAMES.join(', ')}`)
    .option('--model <name>', 'where the server has several')
    .option('--multiplier <x>', 'SLO over solo p95', '5')
    .option('--most-probes <n>', 'of one size, while its median is not settled', '48')
    .option('--key-file <file>', 'send the key in this file as a bearer token')
    .option('--json', 'print one JSON object')
}

async function run(args: readonly string[], options: Options, io: CliIo): Promise<number> {
  const url = urlOf(args[0] as string)
  const multiplier = numberOption(options, 'multiplier', { min: 0.001 }) as number
  const most = numberOption(options, 'mostProbes', { min: 8, max: 10_000, integer: true }) as number
  const only = options.classes === undefined ? undefined : classNames(String(options.classes))
  const key = options.keyFile === undefined ? {} : { key: readText(String(options.keyFile)).trim() }
  const refreshed = options.refresh === undefined ? undefined : String(options.refresh)
  const old = refreshed === undefined ? undefined : readText(refreshed)
  const first = httpServer({ url, model: '', ...key })
  const facts = await readFacts(first)
  first.close()
  if (facts === undefined) throw unanswered(url)
  const server = httpServer({ url, model: modelOf(facts, options.model), ...key })
  try {
    const tell = (what: string): void => io.err(`${what}\n`)
    tell(`${facts.engine}${facts.version === undefined ? '' : ` ${facts.version}`}`)
    const classes = await probeClasses(server, only)
    if (classes.length === 0) throw unanswered(url)
    const attached = await attach({ server, classes, most, onProgress: tell })
    const config = attachedConfig(attached, multiplier)
    const out = refreshed ?? String(options.out)
    const next = old === undefined ? undefined : refreshYaml(old, config, out)
    writeText(out, next?.text ?? attachedYaml(config, attached, facts, url))
    const solo = String(options.solo)
    writeText(solo, formatSoloRecords(attached.classes.flatMap((of) => of.records)))
    if (options.json === true) {
      const { places, backPressure } = attached
      const rows = attached.classes.map(({ rungs, records, ...of }) => ({
        ...of,
        probes: records.length,
        rungs: rungs.map(({ shape, medianMs, p95Ms, width, isSettled }) => ({
          size: shape[of.varies],
          medianMs,
          p95Ms,
          width,
          isSettled,
        })),
      }))
      io.out(
        `${JSON.stringify({ facts, places, backPressure: backPressure ?? null, heldOutError: heldOutError(attached), classes: rows, config, out, solo, ...(next && { changed: next.changed }) })}\n`,
      )
      return EXIT.ok
    }
    io.out(text(attached, facts))
    for (const { field, before, after } of next?.changed ?? [])
      io.out(`${field}: ${before || 'not there'} -> ${after || 'not there'}\n`)
    if (next?.changed.length === 0) io.out(`${out}: nothing changed\n`)
    io.out(`${out} and ${solo} written; next:\n  horizonserve run --config ${out} --wait --ui\n`)
    return EXIT.ok
  } finally {
    server.close()
  }
}

function text(attached: Attached, facts: ServerFacts): string {
  const ms = (value: number): string => `${value.toFixed(1)} ms`
  const { mean, worst } = heldOutError(attached)
  const percent = (x: number): string =>
    Number.isNaN(x) ? 'not measured' : `${(100 * x).toFixed(1)} %`
  const say = (value: number | undefined): string =>
    value === undefined ? 'not determined' : String(value)
  const held = attached.backPressure
  return [
    ...facts.evidence,
    '',
    textTable(
      ['class', 'probes', 'sizes', 'median of each', 'p95 alone', 'stages by'],
      attached.classes.map((of) => [
        of.name,
        String(of.records.length),
        of.rungs.map((rung) => rung.shape[of.varies]).join(' '),
        of.rungs.map((rung) => rung.medianMs.toFixed(1)).join(' '),
        ms(of.soloP95Ms),
        of.split,
      ]),
    ),
    `places: shared stage ${say(attached.places.shared)}, downstream ${say(attached.places.downstream)}`,
    `a long request keeps its place until the next stage takes it: ${held === undefined ? 'not determined' : held ? 'yes' : 'no'}`,
    `error of the profile at sizes between: mean ${percent(mean)}, worst ${percent(worst)}`,
    '',
  ].join('\n')
}

function urlOf(value: string): string {
  try {
    const url = new URL(value)
    if (url.protocol === 'http:' || url.protocol === 'https:') return url.href
  } catch {
    // Told below.
  }
  throw new HorizonError('ERR_CLI_OPTION', 'not a URL of a server', {
    field: '<url>',
    expected: 'such as http://127.0.0.1:8091',
    got: value,
  })
}

function classNames(value: string): string[] {
  const names = value.split(',')
  const unknown = names.find((name) => !CLASS_NAMES.includes(name))
  if (unknown === undefined) return names
  throw new HorizonError('ERR_CLI_OPTION', 'unknown class', {
    field: '--classes',
    expected: CLASS_NAMES.join(', '),
    got: unknown,
  })
}

function modelOf({ models }: ServerFacts, wanted: unknown): string {
  const model = wanted === undefined ? models[0] : models.find((of) => of === wanted)
  if (model !== undefined && (wanted !== undefined || models.length === 1)) return model
  throw new HorizonError('ERR_CLI_OPTION', 'which model?', {
    field: '--model',
    expected: models.join(', '),
    got: wanted,
  })
}

function unanswered(url: string): HorizonError {
  return new HorizonError('ERR_LIVE_SERVER_UNAVAILABLE', 'no OpenAI-compatible server answers', {
    field: '<url>',
    expected: 'GET /v1/models and a chat that is answered',
    got: url,
    hint: 'Start the server, or give --key-file where it asks for a key',
  })
}

export const command: CliCommand = {
  name: 'attach',
  summary: 'measure a running server from outside: profile, places, a complete configuration',
  configure,
  run,
}
