/**
 * @module
 * Runs jobs. A world (a GPU, a model, overridden parameters) is calibrated once, a workload is drawn once per point and seed, and the
 * policies run on exactly the same requests.
 */

import { type CalibrateResult, calibrate } from '../calibrate/calibrate.js'
import { collect } from '../calibrate/collect.js'
import { simulatedTarget } from '../calibrate/simulated-target.js'
import type { SmSweepRow } from '../calibrate/sm-sweep.js'
import { type OmniSpec, omniSpec } from '../omni/spec.js'
import { createRng } from '../rng.js'
import { type SimulationResult, simulate } from '../simulate.js'
import { firstRequests, type Trace } from '../traces/trace.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { generateWorkload, overlayTrace } from '../workload/generate.js'
import type { Workload } from '../workload/workload.js'
import { experimentCase } from './experiment-cases.js'
import type { Arrivals, Job, Point, Row } from './job.js'
import { boundRow, rowOf } from './row.js'
import { upperBound } from './upper-bound.js'

/** SM counts of a coarse sweep, as shares of the GPU. */
const COARSE = [0.25, 0.4, 0.55, 0.7, 1]

/** What one request alone does not meet. */
const IN_COMPANY = [
  'handOver.mechanism',
  'handOver.queuePlaces',
  'shared.slots',
  'downstream.slots',
]

export interface World {
  readonly spec: OmniSpec
  readonly calibration: CalibrateResult
  readonly sweep: readonly SmSweepRow[]
}

export interface Laboratory {
  world(point: Pick<Point, 'gpu' | 'model' | 'overrides'>): World
  /** The SM sweep that the ladder was chosen from. */
  sweep(point: Pick<Point, 'gpu' | 'model'>): readonly SmSweepRow[]
  /** The requests of a point. */
  workload(point: Point, seed: number): Workload
  /** One of its runs in full. */
  simulate(job: Job): SimulationResult
  run(job: Job): Row
}

export interface LaboratoryOptions {
  /** Recorded arrivals, for the points that ask for them. */
  readonly trace?: (name: Exclude<Arrivals, 'poisson'>) => Trace
  /** Solo runs per class. @default 100 */
  readonly soloRuns?: number
  /**
   * Calibrates worlds that differ only in places and hand-over once: a request alone meets neither, and the SM sweep is then that of the
   * places of the table. @default false
   */
  readonly calibratesAlone?: boolean
}

export function createLaboratory(options: LaboratoryOptions = {}): Laboratory {
  const worlds = new Map<string, World>()
  let lastKey = ''
  let last: Workload | undefined

  function world({
    gpu,
    model,
    overrides = {},
  }: Pick<Point, 'gpu' | 'model' | 'overrides'>): World {
    const key = JSON.stringify([gpu, model, overrides])
    const found = worlds.get(key)
    if (found !== undefined) return found
    const spec = omniSpec(gpu, model, overrides)
    if (options.calibratesAlone === true) {
      const alone = Object.entries(overrides).filter(([path]) => !IN_COMPANY.includes(path))
      if (alone.length < Object.keys(overrides).length) {
        const made = { ...world({ gpu, model, overrides: Object.fromEntries(alone) }), spec }
        worlds.set(key, made)
        return made
      }
    }
    // Solo requests are drawn from the same laws with a seed of their own, never from the workload that is measured.
    const mix = mixByLongFraction(spec.classes, 0.5)
    const isNamed = Object.keys(overrides).length === 0
    const extent = { requests: isNamed ? 1200 : 400 }
    const sample = generateWorkload({ spec, mix, rate: 1, extent, seed: -1 })
    const target = simulatedTarget(spec, sample)
    const { solo, sweep } = collect(target, {
      requestsPerClass: isNamed ? (options.soloRuns ?? 100) : 15,
      // A random world is used for a few runs: a coarser sweep will do.
      ...(isNamed
        ? {}
        : { sms: COARSE.map((share) => 2 * Math.round((share * spec.totalSms) / 2)) }),
    })
    const calibration = calibrate(solo, sweep, { totalSms: spec.totalSms })
    const made = { spec, calibration, sweep }
    // Random worlds are used once: only the named ones are kept.
    if (!isNamed && options.calibratesAlone !== true) worlds.clear()
    worlds.set(key, made)
    return made
  }

  function workload(spec: OmniSpec, point: Point, seed: number): Workload {
    const key = JSON.stringify([point, seed])
    if (last !== undefined && key === lastKey) return last
    lastKey = key
    last = draw(spec, point, seed)
    return last
  }

  function draw(spec: OmniSpec, point: Point, seed: number): Workload {
    const { rate, longFraction, extent, arrivals = 'poisson' } = point
    const mix = mixByLongFraction(spec.classes, longFraction)
    if (arrivals === 'poisson') return generateWorkload({ spec, mix, rate, extent, seed })
    if (options.trace === undefined) throw new Error(`no trace ${arrivals}`)
    const trace = options.trace(arrivals)
    const count = 'requests' in extent ? extent.requests : Math.round(extent.minutes * 60 * rate)
    return overlayTrace(windowOf(trace, count, seed), arrivals, { spec, mix, seed, rate })
  }

  function runCase({ point, policy, seed }: Job): SimulationResult {
    const { spec, calibration } = world(point)
    return simulate({
      runtime: spec,
      workload: workload(spec, point, seed),
      calibration,
      policy: experimentCase(policy),
    })
  }

  return {
    world,
    sweep: (point) => world(point).sweep,
    workload: (point, seed) => workload(world(point).spec, point, seed),
    simulate: runCase,
    run(job) {
      const { point, policy, seed } = job
      const { spec, calibration } = world(point)
      const requests = workload(spec, point, seed)
      if (policy === 'upper-bound') {
        return boundRow(requests, upperBound(spec, requests, calibration))
      }
      return rowOf(requests, calibration, runCase(job))
    },
  }
}

/** `count` requests of a recorded trace from a place that the seed chooses; times count from the first. */
export function windowOf(trace: Trace, count: number, seed: number): Trace {
  const n = Math.min(count, trace.size)
  const from = createRng(seed)
    .fork('window')
    .below(trace.size - n + 1)
  const cut = {
    ...trace,
    arrivalMs: trace.arrivalMs.slice(from).map((time) => time - (trace.arrivalMs[from] as number)),
    promptTokens: trace.promptTokens.slice(from),
    outputTokens: trace.outputTokens.slice(from),
    audioSeconds: trace.audioSeconds.slice(from),
    images: trace.images.slice(from),
    videos: trace.videos.slice(from),
    classNames: trace.classNames?.slice(from),
    size: trace.size - from,
  }
  return firstRequests(cut, n)
}
