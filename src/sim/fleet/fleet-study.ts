/**
 * @module
 * The fleet study: every picker on the same requests, over models, loads and scrape intervals, paired by seed. Its rows are kept in a
 * file of JSON lines, so that a run that was stopped goes on; its result is one section of the results page.
 */
import { stageCapacity } from '../experiments/capacity.js'
import { number, type Section, signed, table, text } from '../experiments/document.js'
import type { Laboratory } from '../experiments/laboratory.js'
import { PAPER_MODELS } from '../experiments/paper-numbers.js'
import { estimate } from '../experiments/statistics.js'
import { upperBound } from '../experiments/upper-bound.js'
import { nodeModule } from '../node-module.js'
import type { ModelName } from '../omni/parameters.js'
import { policyCases, RECOMMENDED } from '../policy-case.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { generateWorkload } from '../workload/generate.js'
import { runFleet } from './fleet.js'
import { PICKER_CASES, pickerCases } from './picker-case.js'

export interface FleetBudget {
  readonly seeds: number
  /** Virtual minutes of arrivals. */
  readonly minutes: number
  readonly engines: number
}

/** One run, as what decides it. `pickers` stand side by side. */
interface FleetJob {
  readonly model: ModelName
  readonly load: number
  readonly scrapeMs: number
  readonly picker: string
  readonly pickers: number
  readonly seed: number
}

interface FleetRow {
  /** Of all that arrived, percent. */
  readonly all: number
  readonly short: number
  readonly long: number
  readonly p95ShortMs: number
  readonly longestWaitMs: number
  readonly perSecond: number
}

const LOADS = [0.7, 0.85, 1, 1.2]
const SCRAPES = [50, 2000]
const GPU = 'rtx-6000-ada'
const LONG_FRACTION = 0.3
const FIRST_SEED = 201
const OURS = 'slack'
const BOUND = 'upper-bound'
const STOCK = 'queue-scorer'
const BASELINES = PICKER_CASES.map((of) => of.name).filter((name) => name !== OURS)
/** Raised when a picker, the runtime or the workload changes what a run yields. */
const VERSION = 1

const keyOf = (job: FleetJob, { minutes, engines }: FleetBudget): string =>
  [VERSION, engines, minutes, ...Object.values(job)].join('|')

/** Runs what is not in the file yet, seed by seed. */
export function runFleetStudy(
  lab: Laboratory,
  path: string,
  budget: FleetBudget,
  onProgress: (text: string, share: number) => void = () => {},
): Section {
  const rows = readRows(path)
  const jobs = jobsOf(budget)
  for (const [i, job] of jobs.entries()) {
    const key = keyOf(job, budget)
    if (rows.has(key)) continue
    onProgress(`${job.model}, ${job.load}, ${job.picker}, seed ${job.seed}`, i / jobs.length)
    const row = runJob(lab, job, budget)
    rows.set(key, row)
    nodeModule('node:fs').appendFileSync(path, `${JSON.stringify({ key, row })}\n`)
  }
  return sectionOf(budget, (job) => rows.get(keyOf(job, budget)) as FleetRow)
}

function jobsOf({ seeds }: FleetBudget): FleetJob[] {
  const jobs: FleetJob[] = []
  for (let seed = FIRST_SEED; seed < FIRST_SEED + seeds; seed++)
    for (const model of PAPER_MODELS)
      for (const load of LOADS) {
        for (const { name, scrapes } of PICKER_CASES)
          for (const scrapeMs of scrapes ? SCRAPES : [SCRAPES[0] as number])
            jobs.push({ model, load, scrapeMs, picker: name, pickers: 1, seed })
        jobs.push({ model, load, scrapeMs: SCRAPES[0] as number, picker: BOUND, pickers: 1, seed })
        if (load === 1)
          jobs.push({ model, load, scrapeMs: SCRAPES[1] as number, picker: OURS, pickers: 4, seed })
      }
  return jobs
}

function runJob(lab: Laboratory, job: FleetJob, budget: FleetBudget): FleetRow {
  const { model, load, scrapeMs, picker, pickers, seed } = job
  const { spec, calibration } = lab.world({ gpu: GPU, model })
  const perSecond = budget.engines * stageCapacity(spec, LONG_FRACTION).perSecond * load
  const workload = generateWorkload({
    spec,
    mix: mixByLongFraction(spec.classes, LONG_FRACTION),
    rate: perSecond,
    extent: { minutes: budget.minutes },
    seed,
  })
  if (picker === BOUND) {
    const { short, long } = upperBound(spec, workload, calibration, budget.engines)
    const numLong = workload.classIndex.reduce(
      (sum, c) => sum + (workload.classes[c]?.path === 'long' ? 1 : 0),
      0,
    )
    return {
      all: (100 * (short + long)) / workload.size,
      short: (100 * short) / (workload.size - numLong),
      long: (100 * long) / numLong,
      p95ShortMs: 0,
      longestWaitMs: 0,
      perSecond,
    }
  }
  const run = runFleet({
    engines: Array.from({ length: budget.engines }, () => ({ spec, calibration })),
    workload,
    policy: policyCases([RECOMMENDED])[0] as ReturnType<typeof policyCases>[number],
    picker: pickerCases([picker])[0] as ReturnType<typeof pickerCases>[number],
    pickers,
    scrapeMs,
    seed,
  })
  const { all, short, long } = run.summary
  return {
    all: 100 * all.attainmentOverArrived,
    short: 100 * short.attainmentOverArrived,
    long: 100 * long.attainmentOverArrived,
    p95ShortMs: Math.round(short.firstResponseMs.p95),
    longestWaitMs: Math.round(all.longestWaitMs),
    perSecond,
  }
}

function sectionOf(budget: FleetBudget, rowOf: (job: FleetJob) => FleetRow): Section {
  const seeds = Array.from({ length: budget.seeds }, (_, i) => FIRST_SEED + i)
  const scraping = new Map(PICKER_CASES.map((of) => [of.name, of.scrapes]))
  const rows = (
    model: ModelName,
    load: number,
    scrapeMs: number,
    picker: string,
    pickers = 1,
  ): FleetRow[] =>
    seeds.map((seed) =>
      rowOf({
        model,
        load,
        scrapeMs: scraping.get(picker) === true ? scrapeMs : (SCRAPES[0] as number),
        picker,
        pickers,
        seed,
      }),
    )
  const mean = (of: readonly FleetRow[], value: (row: FleetRow) => number): number =>
    estimate(of.map(value)).mean
  const all = (row: FleetRow): number => row.all
  const names = [...BASELINES, OURS]
  const attainment: string[][] = []
  const tails: string[][] = []
  const stockGains: number[] = []
  const totalGains: number[] = []
  const margins: number[] = []
  const left: number[] = []
  const capacity: string[][] = []
  const side: string[][] = []
  for (const model of PAPER_MODELS) {
    for (const scrapeMs of SCRAPES) {
      for (const load of LOADS) {
        const means = new Map(
          names.map((name) => [name, mean(rows(model, load, scrapeMs, name), all)]),
        )
        const ours = means.get(OURS) as number
        const bound = mean(rows(model, load, scrapeMs, BOUND), all)
        const best = Math.max(...BASELINES.map((name) => means.get(name) as number))
        stockGains.push(ours - (means.get(STOCK) as number))
        totalGains.push(ours - (means.get('queue-scorer-total') as number))
        margins.push(ours - best)
        left.push(bound - ours)
        attainment.push([
          model,
          String(scrapeMs),
          String(load),
          ...names.map((name) => number(means.get(name))),
          signed(ours - best),
          number(bound),
        ])
        const tail = (name: string): string => {
          const of = rows(model, load, scrapeMs, name)
          const wait = Math.max(...of.map((row) => row.longestWaitMs)) / 1000
          return `${number(mean(of, (row) => row.p95ShortMs) / 1000)} / ${number(wait, 0)}`
        }
        tails.push([model, String(scrapeMs), String(load), ...names.map(tail)])
      }
      capacity.push([
        model,
        String(scrapeMs),
        ...names.map((name) =>
          number(
            capacityAt(
              LOADS.map((load) => {
                const of = rows(model, load, scrapeMs, name)
                return [mean(of, (row) => row.perSecond), mean(of, all)] as const
              }),
              90,
            ),
            2,
          ),
        ),
      ])
    }
    const stale = SCRAPES[1] as number
    const one = mean(rows(model, 1, stale, OURS), all)
    const four = mean(rows(model, 1, stale, OURS, 4), all)
    side.push([model, number(one), number(four), signed(four - one)])
  }
  const worst = Math.min(...margins)
  return {
    id: 'fleet',
    title: 'Fleet: which engine a request goes to',
    blocks: [
      text(
        `${budget.engines} simulated engines behind one picker, ${budget.seeds} paired seeds from ${FIRST_SEED} on, ${budget.minutes} virtual minutes of Poisson arrivals, 30 % long path, every engine under \`${RECOMMENDED}\`. Load is offered over what the binding stage of all engines could serve. \`slack\` is ours. Random, round-robin, least-request and power-of-two do not look at scrapes: their numbers stand in both halves.`,
      ),
      table(
        'SLO attainment over all that arrived, %; ours over the best baseline, points; and what the offline bound allows:',
        ['model', 'scrape, ms', 'load', ...names, 'over best', 'bound'],
        attainment,
      ),
      text(
        `Over all ${margins.length} points: ours is ${signed(estimate(stockGains).mean)} points above the stock queue-scorer, ${signed(estimate(totalGains).mean)} above the one that is fed the correct total, ${signed(estimate(margins).mean)} above the best baseline of each point (at the worst point ${signed(worst)}); ${number(estimate(left).mean)} points are left to the bound, which knows the future and need not be reachable.`,
      ),
      table(
        'First response of the short path, p95, s / longest wait of any request over all seeds, s:',
        ['model', 'scrape, ms', 'load', ...names],
        tails,
      ),
      table(
        'Capacity at 90 % attainment, requests/s of the fleet, between the loads above (– where even the lowest load stays below, or the highest above):',
        ['model', 'scrape, ms', ...names],
        capacity,
      ),
      table(
        'Several pickers that share nothing, load 1, scrape 2 s: ours, attainment %:',
        ['model', 'one picker', 'four pickers', 'difference'],
        side,
      ),
    ],
  }
}

/** The rate at which attainment crosses `percent`, linear between points of rising rate; NaN where it does not. */
export function capacityAt(
  points: readonly (readonly [perSecond: number, percent: number])[],
  percent: number,
): number {
  for (let i = 1; i < points.length; i++) {
    const [leftRate, left] = points[i - 1] as readonly [number, number]
    const [rightRate, right] = points[i] as readonly [number, number]
    if (left >= percent && right < percent)
      return leftRate + ((rightRate - leftRate) * (left - percent)) / (left - right)
  }
  return Number.NaN
}

function readRows(path: string): Map<string, FleetRow> {
  const rows = new Map<string, FleetRow>()
  if (!nodeModule('node:fs').existsSync(path)) return rows
  for (const line of nodeModule('node:fs').readFileSync(path, 'utf8').split('\n')) {
    try {
      const { key, row } = JSON.parse(line) as { key: string; row: FleetRow }
      rows.set(key, row)
    } catch {
      // A line cut short by a kill.
    }
  }
  return rows
}
