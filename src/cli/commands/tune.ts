/**
 * @module
 * `horizonserve tune`: searches uGuard, long-path cap, rotation and ladder on the simulated runtime for a declared objective, and says
 * on other seeds how much of the gain is left.
 */
import { basename } from 'node:path'
import type { Command } from 'commander'
import { type HorizonConfig, parseConfig } from '../../config.js'
import { readConfig } from '../../config-file.js'
import { HorizonError, isHorizonError, type Policy } from '../../core/index.js'
import { defaultLongPathCap } from '../../policies/index.js'
import {
  type CalibrateResult,
  type Candidate,
  calibrate,
  candidatePolicy,
  collect,
  GPUS,
  type GpuName,
  generateWorkload,
  MODELS,
  type ModelName,
  mixByLongFraction,
  type OmniSpec,
  omniSpec,
  overlayTrace,
  type RunSummary,
  readTrace,
  scaledCalibration,
  simulate,
  simulatedTarget,
  type Trace,
  tune,
  usualCandidate,
  type Workload,
  windowOf,
} from '../../sim/index.js'
import { type CliCommand, type CliIo, EXIT } from '../command.js'
import { numberOption } from '../number-option.js'
import { createProgressBar } from '../progress-bar.js'

type Options = Record<string, unknown>

/** Requests that the calibration draws from. */
const SAMPLE = 1200

/** What is made as large as possible, in percent. */
const OBJECTIVES: Readonly<Record<string, (of: RunSummary) => number>> = {
  arrived: (of) => 100 * of.all.attainmentOverArrived,
  short: (of) => 100 * of.short.attainmentOverArrived,
  long: (of) => 100 * of.long.attainmentOverArrived,
  'worst-class': (of) =>
    100 * Math.min(...Object.values(of.classes).map((one) => one.attainmentOverArrived)),
}

function configure(command: Command): void {
  const names = (of: object): string => Object.keys(of).join(', ')
  command
    .option(
      '--config <path>',
      'start from the policy of this configuration (default: the default preset)',
    )
    .option('--trace <path>', 'arrivals and lengths of a recorded trace (default: synthetic)')
    .option(
      '--objective <name>',
      `attainment over all that arrived: ${names(OBJECTIVES)}`,
      'arrived',
    )
    .option('--model <name>', names(MODELS), 'qwen2.5-omni')
    .option('--gpu <name>', names(GPUS), 'rtx-6000-ada')
    .option('--rate <r>', 'requests per second', '0.45')
    .option('--long-fraction <x>', 'share of long-path requests', '0.3')
    .option('--requests <n>', 'requests of one run', '300')
    .option('--trials <n>', 'candidates to try', '40')
    .option('--seeds <n>', 'seeds of the search', '4')
    .option('--held-out <n>', 'other seeds, on which the result is measured again', '8')
    .option('--seed <n>', 'first seed; same seed, same answer', '1')
    .option('--json', 'print one JSON object')
}

async function run(_args: readonly string[], options: Options, io: CliIo): Promise<number> {
  const objective = objectiveOf(String(options.objective))
  const whole = { min: 1, max: 100_000, integer: true }
  const first = numberOption(options, 'seed', { integer: true }) as number
  const numSeeds = numberOption(options, 'seeds', whole) as number
  const numHeldOut = numberOption(options, 'heldOut', whole) as number
  const trials = numberOption(options, 'trials', whole) as number
  const spec = omniSpec(options.gpu as GpuName, options.model as ModelName)
  const config = options.config === undefined ? undefined : await readConfig(String(options.config))
  const draw = workloads(spec, options)
  const bar = createProgressBar(io)
  // Every class must be there to be run alone, however short the runs of the search are.
  const sample = draw(first, SAMPLE)
  const { solo, sweep } = collect(simulatedTarget(spec, sample), { requestsPerClass: 60 })
  const calibration = calibrate(solo, sweep, { totalSms: spec.totalSms })
  const drawn = new Map<number, Workload>()
  const workloadOf = (seed: number): Workload => {
    const found = drawn.get(seed) ?? draw(seed)
    drawn.set(seed, found)
    return found
  }
  const tuned = tune({
    start: startOf(config, spec.shared.slots),
    seeds: Array.from({ length: numSeeds }, (_, i) => first + i),
    heldOut: Array.from({ length: numHeldOut }, (_, i) => first + numSeeds + i),
    trials,
    seed: first,
    evaluate(candidate, seed) {
      const known = scaledCalibration(calibration, candidate)
      const policy = policyOf(candidate, config, known, spec.shared.slots)
      // A guard as wide as an SLO is no candidate.
      if (policy === undefined) return 0
      const workload = workloadOf(seed)
      const sharing = 'green-contexts'
      const of = { name: 'tuned', about: '', sharing, policy: () => policy } as const
      const settings = { runtime: spec, workload, policy: of, calibration: known }
      return objective(simulate(settings).summary)
    },
    onProgress: (tried, best) => bar.show(`best ${best.toFixed(1)} %`, tried / trials),
  })
  bar.clear()
  const { best } = tuned
  const levels = scaledCalibration(calibration, best).ladder.levels
  if (options.json === true) {
    io.out(
      `${JSON.stringify({ simulated: true, objective: options.objective, ...tuned, levels })}\n`,
    )
    return EXIT.ok
  }
  const of = ({ mean, half }: { mean: number; half: number }): string =>
    `${mean >= 0 ? '+' : ''}${mean.toFixed(2)} ± ${Number.isNaN(half) ? '–' : half.toFixed(2)} points`
  io.out(
    [
      `Simulated: ${spec.model} on ${spec.gpu}; objective ${String(options.objective)}; ${tuned.tried} candidates`,
      '',
      `uGuard: ${best.uGuard}`,
      `longPathCap: ${best.longPathCap}`,
      `rotation: { m: ${best.m}, nMin: ${best.nMin}, nMax: ${best.nMax} }`,
      `ladder: { totalSms: ${spec.totalSms}, levels: [${levels.join(', ')}] }`,
      '',
      `gain on the ${numSeeds} seeds of the search:  ${of(tuned.gain)}`,
      `gain on ${numHeldOut} other seeds:            ${of(tuned.heldOutGain)}`,
      Number.isNaN(tuned.survives)
        ? 'nothing better than the start was found'
        : `${(100 * tuned.survives).toFixed(0)} % of the gain survives`,
      '',
    ].join('\n'),
  )
  return EXIT.ok
}

function objectiveOf(name: string): (of: RunSummary) => number {
  const found = Object.hasOwn(OBJECTIVES, name) ? OBJECTIVES[name] : undefined
  if (found !== undefined) return found
  throw new HorizonError('ERR_CLI_OPTION', 'unknown objective', {
    field: '--objective',
    expected: Object.keys(OBJECTIVES).join(', '),
    got: name,
  })
}

/** Requests of one run by seed: of a trace, the seed chooses the window. */
function workloads(spec: OmniSpec, options: Options): (seed: number, count?: number) => Workload {
  const rate = numberOption(options, 'rate', { min: 1e-6 }) as number
  const fraction = numberOption(options, 'longFraction', { min: 0, max: 1 }) as number
  const requests = numberOption(options, 'requests', { min: 10, max: 1e6, integer: true }) as number
  const mix = mixByLongFraction(spec.classes, fraction)
  if (options.trace === undefined) {
    return (seed, count = requests) =>
      generateWorkload({ spec, mix, rate, extent: { requests: count }, seed })
  }
  const path = String(options.trace)
  const trace: Trace = readTrace(path)
  return (seed, count = requests) =>
    overlayTrace(windowOf(trace, count, seed), basename(path), { spec, mix, rate, seed })
}

/** The numbers of the configuration where it gives them, the defaults elsewhere. */
function startOf(config: HorizonConfig | undefined, slots: number): Candidate {
  const usual = usualCandidate(slots)
  if (config === undefined) return usual
  const { rotation, longPathCap, slots: named } = config
  const own = rotation === false ? {} : (rotation ?? {})
  const cap = named === undefined ? defaultLongPathCap.cap : usualCandidate(named).longPathCap
  return {
    uGuard: config.uGuard ?? usual.uGuard,
    longPathCap: typeof longPathCap === 'number' ? longPathCap : cap,
    nMin: own.nMin ?? usual.nMin,
    nMax: own.nMax ?? usual.nMax,
    m: own.m ?? usual.m,
    ladderScale: 1,
  }
}

/** Everything but the searched numbers stays as the configuration has it; without one, as we recommend. */
function policyOf(
  candidate: Candidate,
  config: HorizonConfig | undefined,
  calibration: CalibrateResult,
  slots: number,
): Policy | undefined {
  const { uGuard, longPathCap, m, nMin, nMax } = candidate
  if (config === undefined) return candidatePolicy(candidate, calibration, slots)
  const { ladder: _ladder, fixedCapSms: _fixedCapSms, ...rest } = config
  const rotation = { ...(config.rotation === false ? {} : config.rotation), m, nMin, nMax }
  try {
    return parseConfig({ ...rest, uGuard, longPathCap, rotation }).policy
  } catch (error) {
    if (isHorizonError(error) && error.code === 'ERR_CONFIG_GUARD') return undefined
    throw error
  }
}

export const command: CliCommand = {
  name: 'tune',
  summary: 'search policy numbers on the simulated runtime, checked on held-out seeds',
  configure,
  run,
}
