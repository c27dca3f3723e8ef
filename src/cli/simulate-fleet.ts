/**
 * @module
 * `simulate --engines N`: pickers side by side before several simulated engines, on the same requests.
 */
import { HorizonError } from '../core/index.js'
import {
  calibrate,
  collect,
  duration,
  type FleetEngine,
  GPUS,
  type GpuName,
  type ModelName,
  type OmniSpec,
  omniSpec,
  PICKER_CASES,
  percent,
  pickerCases,
  policyCases,
  runFleet,
  simulatedTarget,
  type Workload,
} from '../sim/index.js'
import { type CliIo, EXIT } from './command.js'
import { numberOption, parseNumber } from './number-option.js'
import { createProgressBar } from './progress-bar.js'
import { textTable } from './text-table.js'

/** Options that mean something with `--engines` only. */
export const FLEET_OPTIONS = [
  'pickers',
  'pickerReplicas',
  'scrapeMs',
  'scrapeDelayMs',
  'engineGpus',
  'lose',
] as const

export interface FleetCommand {
  readonly spec: OmniSpec
  readonly workload: Workload
  readonly options: Readonly<Record<string, unknown>>
  readonly seed: number
  readonly multiplier: number
  readonly overrides: Readonly<Record<string, number>>
  readonly io: CliIo
}

export function simulateFleet(command: FleetCommand): number {
  const { spec, workload, options, seed, multiplier, overrides, io } = command
  const count = numberOption(options, 'engines', { min: 1, max: 64, integer: true }) as number
  const pickers = numberOption(options, 'pickerReplicas', { min: 1, max: 8, integer: true }) ?? 1
  const scrapeMs = numberOption(options, 'scrapeMs', { min: 1, max: 600_000 }) ?? 50
  const scrapeDelayMs = numberOption(options, 'scrapeDelayMs', { min: 0, max: 600_000 }) ?? 5
  const losses = lossesOf(options.lose, count)
  const cases = pickerCases(
    options.pickers === undefined
      ? PICKER_CASES.map((of) => of.name)
      : String(options.pickers).split(','),
  )
  const policies = policyCases(['horizonserve-slots'])
  const bar = createProgressBar(io)
  const gpus = options.engineGpus === undefined ? [spec.gpu] : gpuNames(String(options.engineGpus))
  const kinds = new Map<GpuName, FleetEngine>()
  for (const gpu of gpus) {
    if (kinds.has(gpu)) continue
    const own = gpu === spec.gpu ? spec : omniSpec(gpu, spec.model as ModelName, overrides)
    bar.show(`calibrating ${gpu}`, 0)
    const { solo, sweep } = collect(simulatedTarget(own, workload), { requestsPerClass: 100 })
    const calibration = calibrate(solo, sweep, { totalSms: own.totalSms, multiplier })
    kinds.set(gpu, { spec: own, calibration })
  }
  const engines = Array.from(
    { length: count },
    (_, e) => kinds.get(gpus[e % gpus.length] as GpuName) as FleetEngine,
  )
  const results = cases.map((picker, i) => {
    bar.show(picker.name, i / cases.length)
    const run = runFleet({
      engines,
      workload,
      policy: policies[0] as (typeof policies)[number],
      picker,
      pickers,
      scrapeMs,
      scrapeDelayMs,
      losses,
      seed,
    })
    const { summary, perEngine, resent, brokenOff } = run
    return { picker: picker.name, summary, perEngine, resent, brokenOff }
  })
  bar.clear()
  if (options.json === true) {
    const fleet = { engines: count, gpus, pickers, scrapeMs, scrapeDelayMs, losses, seed }
    io.out(`${JSON.stringify({ fleet, model: spec.model, results })}\n`)
    return EXIT.ok
  }
  io.out(
    [
      `Simulated: ${count} engines of ${spec.model} on ${gpus.join(', ')}; ${pickers} picker${pickers > 1 ? 's' : ''}, scrape every ${scrapeMs} ms; ${workload.name}; ${workload.size} requests, seed ${seed}`,
      '',
      'SLO attainment over all that arrived, %',
      textTable(
        ['picker', 'all', 'short', 'long', 'short p95', 'longest wait', 'sent again', 'broken off'],
        results.map(({ picker, summary: { all, short, long }, resent, brokenOff }) => [
          picker,
          percent(all.attainmentOverArrived),
          percent(short.attainmentOverArrived),
          percent(long.attainmentOverArrived),
          duration(short.firstResponseMs.p95),
          duration(all.longestWaitMs),
          String(resent),
          String(brokenOff),
        ]),
      ),
    ].join('\n'),
  )
  return EXIT.ok
}

function gpuNames(text: string): GpuName[] {
  return text.split(',').map((name) => {
    if (Object.hasOwn(GPUS, name)) return name as GpuName
    throw new HorizonError('ERR_CLI_OPTION', 'unknown GPU', {
      field: '--engine-gpus',
      expected: Object.keys(GPUS).join(', '),
      got: name,
    })
  })
}

function lossesOf(text: unknown, engines: number): { engine: number; atMs: number }[] {
  if (text === undefined) return []
  return String(text)
    .split(',')
    .map((part) => {
      const [engine = '', at = ''] = part.split('@')
      const range = { min: 0, max: engines - 1, integer: true }
      return {
        engine: parseNumber(engine, '--lose engine', range),
        atMs: 1000 * parseNumber(at, '--lose seconds', { min: 0 }),
      }
    })
}
