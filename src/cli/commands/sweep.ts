/**
 * @module
 * `horizonserve sweep`: step times per SM count, on a GPU with our own two stages, or through a running engine. Writes the table that
 * `calibrate` reads and a page to look at.
 */
import { execFileSync } from 'node:child_process'
import { HorizonError } from '../../core/errors.js'
import type { PressureSample } from '../../core/ports.js'
import { initCuda, openCuda } from '../../gpu/cuda.js'
import { openDevice } from '../../gpu/device.js'
import { openEngine } from '../../gpu/engine-probe.js'
import { sweepEngine } from '../../gpu/engine-sweep.js'
import { runGpuSweep } from '../../gpu/gpu-sweep.js'
import { createGreenContextLadder } from '../../gpu/green-context-ladder.js'
import { spreadLevels } from '../../gpu/ladder-plan.js'
import { initNvml, nvmlDeviceByIndex, openNvml } from '../../gpu/nvml.js'
import { createNvmlUtilizationProbe } from '../../gpu/nvml-utilization.js'
import { createPressureSource } from '../../gpu/pressure-source.js'
import { formatSweepCsv, type SweepRecord } from '../../gpu/sweep-csv.js'
import { renderSweepReport } from '../../gpu/sweep-report.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { expectWritable, writeText } from '../files.js'
import { numberOption, parseNumber } from '../number-option.js'

interface Measured {
  readonly title: string
  readonly facts: readonly string[]
  readonly records: readonly SweepRecord[]
  /** What else the JSON carries. */
  readonly more: Readonly<Record<string, unknown>>
}

export const command: CliCommand = {
  name: 'sweep',
  summary: 'Measure step times per SM count, on a GPU or through a running engine, for calibrate',
  configure(command) {
    command
      .option('--device <index>', 'GPU, as CUDA numbers it', '0')
      .option(
        '--levels <sms>',
        'wanted SM counts, e.g. 40,72,104 (default: --num-levels spread over the GPU)',
      )
      .option('--num-levels <n>', 'how many levels to spread', '5')
      .option('--steps <n>', 'steps per measurement', '60')
      .option('--seed <n>', 'order of the rows', '1')
      .option('--engine <url>', 'measure this OpenAI-compatible engine instead of our own stages')
      .option('--caps <sms>', 'with --engine: caps to measure, e.g. 40,72,104')
      .option(
        '--apply-cap <command>',
        'with --engine: run before each cap, with HORIZON_CAP_SMS set; returns when it is in force',
      )
      .option('--total-sms <n>', 'with --engine: SMs of the GPU')
      .option('--repeats <n>', 'with --engine: measurements per cap', '10')
      .option('--model <name>', 'with --engine: model (default: the first it lists)')
      .option(
        '--long-body <json>',
        'with --engine: body of the long request, e.g. \'{"modalities":["audio"]}\'',
      )
      .option('--out <file>', 'table, as calibrate reads it', 'sm-sweep.csv')
      .option('--report <file>', 'page with the plots', 'sm-sweep.html')
      .option(
        '--describe <file>',
        'measure nothing: build the rows of --levels once and write what the stages build theirs from (HORIZONSERVE_LADDER)',
      )
      .option('--json', 'print one JSON object')
  },
  async run(_args, options, io) {
    if (typeof options.describe === 'string') return describeLadder(options, options.describe, io)
    expectWritable(String(options.out))
    expectWritable(String(options.report))
    const measured =
      options.engine === undefined ? sweepGpu(options, io) : await sweepServer(options, io)
    const { title, facts, records } = measured
    const out = String(options.out)
    const report = String(options.report)
    writeText(out, formatSweepCsv(records))
    writeText(report, renderSweepReport(records, title, facts))
    if (options.json === true)
      io.out(`${JSON.stringify({ title, facts, records, ...measured.more, csv: out, report })}\n`)
    else io.out(`\n${out}: ${records.length} rows; plots in ${report}\n`)
    return EXIT.ok
  },
}

/** Builds every row for real, so that what is written is what the driver gives, and closes it again. */
function describeLadder(options: Record<string, unknown>, file: string, io: CliIo): number {
  const cuda = openCuda()
  initCuda(cuda)
  const device = openDevice(cuda, whole(options, 'device', 0))
  const levels =
    options.levels === undefined
      ? spreadLevels(device.numSms, whole(options, 'numLevels', 1))
      : list(options.levels, '--levels')
  const ladder = createGreenContextLadder(cuda, device, { levels })
  const description = ladder.describe()
  const { dropped } = ladder
  ladder.close()
  for (const { wantedSms, reason } of dropped) io.err(`no row for ${wantedSms} SMs: ${reason}\n`)
  writeText(file, `${JSON.stringify(description)}\n`)
  const rows = description.levels.map((row) => row.sharedSms).join(', ')
  if (options.json === true) io.out(`${JSON.stringify({ description, dropped, file })}\n`)
  else io.out(`${file}: rows of ${rows} of ${description.totalSms} SMs on ${device.name}\n`)
  return EXIT.ok
}

function sweepGpu(options: Record<string, unknown>, io: CliIo): Measured {
  const result = runGpuSweep({
    device: whole(options, 'device', 0),
    numLevels: whole(options, 'numLevels', 1),
    steps: whole(options, 'steps', 2),
    seed: whole(options, 'seed', 0),
    ...(options.levels === undefined ? {} : { levels: list(options.levels, '--levels') }),
    onWarning: (message) => io.err(`${message}\n`),
    onRow: (record, done, total) => io.err(`${done}/${total}  ${lineOf(record)}\n`),
  })
  for (const { wantedSms, reason } of result.dropped)
    io.err(`no row for ${wantedSms} SMs: ${reason}\n`)
  const { device, uuid, totalSms, ladder, dropped, records } = result
  return {
    title: `SM sweep on ${device}`,
    facts: [
      `${totalSms} SMs, ${uuid}`,
      'synthetic stages: the shared one reads memory, the downstream one computes; no model behind them',
      'first response: a co-running step of the shared stage stands in for it',
      'off: both stages on the whole device with no partition',
    ],
    records,
    more: { totalSms, ladder, dropped },
  }
}

async function sweepServer(options: Record<string, unknown>, io: CliIo): Promise<Measured> {
  const url = String(options.engine)
  if (options.caps === undefined) {
    throw new HorizonError('ERR_CLI_OPTION', 'no caps to measure', {
      field: '--caps',
      expected: 'SM counts such as 40,72,104',
      got: undefined,
    })
  }
  const caps = list(options.caps, '--caps')
  const command = options.applyCap
  const engine = await openEngine({
    url,
    ...(typeof options.model === 'string' ? { model: options.model } : {}),
    ...(options.longBody === undefined ? {} : { longBody: json(options.longBody) }),
    ...(process.env.OPENAI_API_KEY === undefined ? {} : { apiKey: process.env.OPENAI_API_KEY }),
  })
  const pressure = openPressure(io)
  const records = await sweepEngine(engine, {
    caps,
    readPressure: pressure,
    repeats: whole(options, 'repeats', 1),
    ...(options.totalSms === undefined ? {} : { totalSms: whole(options, 'totalSms', 1) }),
    applyCap: async (sms) => {
      if (typeof command === 'string') applyCap(command, sms)
    },
    onRow: (record, done, total) => io.err(`${done}/${total}  ${lineOf(record)}\n`),
  })
  const how =
    typeof command === 'string'
      ? `caps put into force by: ${command}`
      : 'caps are labels only: nothing was run to put them into force'
  return {
    title: `SM sweep through ${url}`,
    facts: [`model ${engine.model}`, how],
    records,
    more: {},
  }
}

/** Pressure of the first GPU that NVML sees, or nothing, said once. */
function openPressure(io: CliIo): (() => PressureSample | undefined) | undefined {
  try {
    const nvml = openNvml()
    initNvml(nvml)
    const probe = createNvmlUtilizationProbe(nvml, nvmlDeviceByIndex(nvml, 0))
    const source = createPressureSource(probe, { onFailure: (message) => io.err(`${message}\n`) })
    const out: PressureSample = { value: 0, kind: '', timestampMs: 0, source: '' }
    return () => (source.sample(out) ? out : undefined)
  } catch (error) {
    io.err(`no pressure, and calibrate needs that column: ${(error as Error).message}\n`)
    return
  }
}

function applyCap(command: string, sms: number): void {
  try {
    execFileSync('/bin/sh', ['-c', command], {
      env: { ...process.env, HORIZON_CAP_SMS: String(sms) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  } catch (cause) {
    throw new HorizonError('ERR_CLI_APPLY_CAP', `the command for a cap of ${sms} SMs failed`, {
      field: '--apply-cap',
      got: command,
      cause,
    })
  }
}

function lineOf(record: SweepRecord): string {
  const ms = (value: number): string => (Number.isFinite(value) ? `${value.toFixed(3)} ms` : '-')
  const coRun = Number.isFinite(record.coRunTtftMs)
    ? `TTFT beside a long request ${ms(record.coRunTtftMs)}`
    : `beside downstream ${ms(record.coRunTpotMs)}`
  return `${String(record.sms).padStart(4)} SMs (${record.kind}): alone ${ms(record.tpotMs)}, ${coRun}`
}

function whole(options: Record<string, unknown>, name: string, min: number): number {
  // Every one of these has a default but --total-sms, which is asked for only where it was given.
  return numberOption(options, name, { min, integer: true }) as number
}

function list(value: unknown, field: string): number[] {
  return String(value)
    .split(',')
    .map((part) => parseNumber(part, field, { min: 1, integer: true }))
}

function json(value: unknown): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(String(value))
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>
  } catch {
    // Reported below, with what was given.
  }
  throw new HorizonError('ERR_CLI_OPTION', 'not a JSON object', {
    field: '--long-body',
    got: value,
  })
}
