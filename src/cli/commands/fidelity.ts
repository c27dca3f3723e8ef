/**
 * @module
 * `horizonserve fidelity`: replays a real vLLM run and prints how far off the simulator is.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HorizonError } from '../../core/errors.js'
import { engineSettings } from '../../sim/vllm/engine-settings.js'
import type { FitRun } from '../../sim/vllm/fit.js'
import { loadKernelTables, tablesPrefix } from '../../sim/vllm/load-tables.js'
import { parseRecordedRun } from '../../sim/vllm/recorded-run.js'
import { type FidelityResult, replayRun } from '../../sim/vllm/replay.js'
import { type CliCommand, EXIT } from '../command.js'

const REQUESTS = '.requests.jsonl'
/** One to compile, one to settle, one for the clock: each takes tens of milliseconds. */
const TIMED_REPLAYS = 3

export const command: CliCommand = {
  name: 'fidelity',
  summary: 'replay a real vLLM run in the simulator and print its signed errors',
  configure(command) {
    command
      .requiredOption('--requests <file>', 'the run: one request per line, with its stamps')
      .requiredOption('--tables <prefix>', 'kernel tables: the path up to ".attention.csv"')
      .requiredOption('--meta <file>', "the run's settings (meta.json)")
      .option('--fit <file>', 'another run (NAME.requests.jsonl) to fit the constants on')
      .option('--fit-tables <prefix>', "that run's kernel tables (default: beside it)")
      .option('--fit-meta <file>', "that run's settings (default: NAME.meta.json beside it)")
      .option('--replay-by <stamp>', 'when a request lies ready: "arrival" or "queued"', 'arrival')
      .option('--no-reuse', 'take every prompt as new, whatever the fitted run shows')
      .option('--json', 'print one JSON object')
  },
  async run(_args, options, io) {
    const subject = loadRun(String(options.requests), String(options.meta), () =>
      String(options.tables),
    )
    const fit = options.fit === undefined ? undefined : loadFit(options)
    const { result } = replayRun(subject, fit, {
      replayBy: replayBy(options.replayBy),
      reuse: options.reuse !== false,
      replays: TIMED_REPLAYS,
    })
    io.out(options.json === true ? `${JSON.stringify(result)}\n` : describe(subject.name, result))
    return EXIT.ok
  },
}

function replayBy(value: unknown): 'arrival' | 'queued' {
  if (value === 'arrival' || value === 'queued') return value
  throw new HorizonError('ERR_CLI_OPTION', 'no such stamp', {
    field: '--replay-by',
    expected: 'arrival or queued',
    got: value,
  })
}

function loadRun(
  requests: string,
  meta: string,
  tables: (tensorParallel: number) => string,
): FitRun {
  const settings = engineSettings(parseJson(read(meta), meta), meta)
  return {
    name: runName(requests),
    run: parseRecordedRun(read(requests), requests),
    settings,
    tables: loadKernelTables(tables(settings.tensorParallel)),
  }
}

function loadFit(options: Record<string, unknown>): FitRun {
  const file = String(options.fit)
  const base = join(dirname(file), runName(file))
  const meta = options.fitMeta === undefined ? `${base}.meta.json` : String(options.fitMeta)
  return loadRun(file, meta, (tensorParallel) =>
    options.fitTables === undefined
      ? tablesPrefix(base, tensorParallel)
      : String(options.fitTables),
  )
}

function runName(file: string): string {
  const name = basename(file)
  return name.endsWith(REQUESTS) ? name.slice(0, -REQUESTS.length) : name
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new HorizonError('ERR_CLI_FILE', 'cannot read the file', {
      field: file,
      expected: 'a readable file',
      got: cause instanceof Error ? cause.message : cause,
      cause,
    })
  }
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HorizonError('ERR_CLI_JSON', 'not JSON', {
      field: file,
      expected: 'a JSON object',
      got: text.slice(0, 60),
      cause,
    })
  }
}

function describe(name: string, result: FidelityResult): string {
  const cell = (value: number | null): string =>
    (value === null ? '-' : `${value >= 0 ? '+' : ''}${value.toFixed(2)}`).padStart(8)
  const row = (label: string, error: FidelityResult['ttft']): string =>
    `${label.padEnd(22)}${[error.mean, error.p50, error.p90, error.p95, error.p99].map(cell).join('')}  (${error.requests})\n`
  const { host, collective, reuse } = result.constants
  return [
    `${name}: signed error in percent over ${result.over}\n`,
    `${''.padEnd(22)}${['mean', 'p50', 'p90', 'p95', 'p99'].map((h) => h.padStart(8)).join('')}  (requests)\n`,
    row('time to first token', result.ttft),
    row('  of those not queued', result.ttftUnqueued),
    row('time per output token', result.tpot),
    row('end to end', result.e2e),
    `mean absolute error per request, end to end: ${result.mapePerRequest?.toFixed(2) ?? '-'} %\n`,
    `${result.steps} steps, ${result.preemptions} preemptions, ${result.events} events in ${result.wallMs.toFixed(0)} ms: ${result.speedup.toFixed(0)}x real time (first, uncompiled replay: ${result.coldWallMs.toFixed(0)} ms)\n`,
    `host: ${host.stepMs.toFixed(3)} ms a step, ${host.promptStepMs.toFixed(2)} ms more with a prompt chunk (${host.fittedOn})\n`,
    `collective: ${collective.fixedUs.toFixed(1)} us + bytes / ${collective.bytesPerUs.toFixed(0)} per us (${collective.fittedOn})\n`,
    `prompts that continue an earlier one: ${reuse.prompts}, ${reuse.tokens} tokens (${reuse.fittedOn})\n`,
  ].join('')
}
