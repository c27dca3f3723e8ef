/**
 * @module
 * `horizonserve calibrate`: from solo latencies and an SM sweep to a configuration; with `--collect`, first makes those two files by
 * running the simulated runtime.
 */
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { HorizonError } from '../../core/index.js'
import {
  type CalibrateResult,
  calibrate,
  calibrationConfig,
  collect,
  duration,
  formatSmSweep,
  formatSoloRecords,
  GPUS,
  type GpuName,
  generateWorkload,
  MODELS,
  type ModelName,
  mixByLongFraction,
  omniSpec,
  parseSmSweep,
  parseSoloRecords,
  simulatedTarget,
} from '../../sim/index.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { readText, writeText } from '../files.js'
import { numberOption, numberRecord } from '../number-option.js'
import { createProgressBar } from '../progress-bar.js'
import { textTable } from '../text-table.js'

type Options = Readonly<Record<string, unknown>>

function configure(command: Command): void {
  command
    .option('--solo <path>', 'JSON lines: one request alone on the GPU per line', 'solo.jsonl')
    .option(
      '--sweep <path>',
      'CSV: sms,decode_tpot_ms,corun_ttft_ms,corun_pressure',
      'sm-sweep.csv',
    )
    .option('--total-sms <n>', 'SMs of the whole GPU (default: the largest count of the sweep)')
    .option('--multiplier <x>', 'SLO over solo p95', '5')
    .option('--multipliers <list>', 'by class instead, such as t2t=5,t2a=3')
    .option('--near-best <x>', 'share of the best decode TPOT that counts as near-best', '0.05')
    .option(
      '--degradation <x>',
      'share above the best co-running TTFT that counts as degraded',
      '0.1',
    )
    .option('--minimum <x>', 'share above the best decode TPOT that Smin may have', '0.25')
    .option('--levels <n>', 'co-running rows of the ladder at most', '4')
    .option('--out <path>', 'write the configuration (YAML)')
    .option('--json', 'print the configuration as one JSON object')
    .option('--collect', 'first make the two files by running the simulated runtime')
    .option('--model <name>', `with --collect: ${Object.keys(MODELS).join(', ')}`, 'qwen2.5-omni')
    .option('--gpu <name>', `with --collect: ${Object.keys(GPUS).join(', ')}`, 'rtx-6000-ada')
    .option('--requests-per-class <n>', 'with --collect', '200')
    .option('--seed <n>', 'with --collect', '1')
}

async function run(_args: readonly string[], options: Options, io: CliIo): Promise<number> {
  const soloPath = String(options.solo)
  const sweepPath = String(options.sweep)
  if (options.collect === true) collectFiles(options, soloPath, sweepPath, io)
  const solo = parseSoloRecords(readText(soloPath), soloPath)
  const sweep = parseSmSweep(readText(sweepPath), sweepPath)
  const share = (name: string): number => numberOption(options, name, { min: 0 }) as number
  const totalSms =
    numberOption(options, 'totalSms', { min: 2, integer: true }) ?? sweep.at(-1)?.sms ?? 0
  const result = calibrate(solo, sweep, {
    totalSms,
    multiplier: numberOption(options, 'multiplier', { min: 0.001 }) as number,
    multipliers:
      options.multipliers === undefined
        ? {}
        : numberRecord(String(options.multipliers), '--multipliers', { min: 0.001 }),
    nearBest: share('nearBest'),
    degradation: share('degradation'),
    minimum: share('minimum'),
    levels: numberOption(options, 'levels', { min: 1, max: 64, integer: true }) as number,
  })
  const config = calibrationConfig(result)
  if (options.json === true) io.out(`${JSON.stringify(config)}\n`)
  else io.out(tableOf(result))
  if (options.out !== undefined) {
    const path = String(options.out)
    const head = `# Calibrated from ${soloPath} and ${sweepPath}.\n# ${result.reason}\n`
    writeText(path, head + stringify(config))
    ;(options.json === true ? io.err : io.out)(`configuration: ${path}\n`)
  }
  return EXIT.ok
}

/** Existing files are measurements: they are never overwritten by simulated ones. */
function collectFiles(options: Options, soloPath: string, sweepPath: string, io: CliIo): void {
  if (soloPath === '-' || sweepPath === '-') {
    throw new HorizonError('ERR_CLI_OPTION', 'cannot collect into standard input', {
      field: soloPath === '-' ? '--solo' : '--sweep',
      expected: 'a path to write to',
    })
  }
  const spec = omniSpec(options.gpu as GpuName, options.model as ModelName)
  const perClass = numberOption(options, 'requestsPerClass', {
    min: 20,
    max: 100_000,
    integer: true,
  }) as number
  const workload = generateWorkload({
    spec,
    mix: mixByLongFraction(spec.classes, 0.5),
    rate: 1,
    // Twice as many as needed on average, so that every class has its number.
    extent: { requests: perClass * spec.classes.length * 2 },
    seed: numberOption(options, 'seed', { integer: true }) as number,
  })
  const bar = createProgressBar(io)
  const { solo, sweep } = collect(simulatedTarget(spec, workload), {
    requestsPerClass: perClass,
    onProgress: (what, share) => bar.show(what, share),
  })
  bar.clear()
  writeText(soloPath, formatSoloRecords(solo), true)
  writeText(sweepPath, formatSmSweep(sweep), true)
  io.err(`simulated: ${spec.model} on ${spec.gpu}; wrote ${soloPath} and ${sweepPath}\n`)
}

function tableOf({ classes, ladder, saturation, reason }: CalibrateResult): string {
  const rows = classes.map((of) => [
    of.name,
    of.path,
    duration(of.soloP95Ms),
    duration(of.sloMs),
    String(of.samples),
  ])
  return [
    textTable(['class', 'path', 'solo p95', 'SLO', 'solo runs'], rows),
    `ladder: ${ladder.levels.join(', ')} of ${ladder.totalSms} SMs; saturation ${saturation}\n${reason}\n`,
  ].join('\n')
}

export const command: CliCommand = {
  name: 'calibrate',
  summary: 'turn solo latencies and an SM sweep into SLOs, profiles and a ladder',
  configure,
  run,
}
