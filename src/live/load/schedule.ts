/**
 * @module
 * What will be sent and when, fixed before the run: arrivals by a seeded law or a trace, classes by weight, sizes drawn. Nothing that the
 * server does later can move an arrival.
 */
import { HorizonError } from '../../core/index.js'
import {
  type ArrivalProcess,
  createRng,
  lognormalOf,
  type Rng,
  type Trace,
} from '../../sim/index.js'
import { drawArrivalsUntil, gaps, rescaleArrivals } from '../../sim/workload/arrivals.js'
import type { LoadClass, Size } from '../load-class.js'

/** `cv`: coefficient of variation of the gaps. On-off: Poisson while on, nothing while off, `rate` on average. */
export type LoadArrivals =
  | { readonly kind: 'constant' | 'poisson' }
  | { readonly kind: 'gamma' | 'weibull'; readonly cv: number }
  | { readonly kind: 'on-off'; readonly onSeconds: number; readonly offSeconds: number }

/** Columns over the requests, in order of arrival. */
export interface LoadSchedule {
  readonly size: number
  /** Since the start of the run. */
  readonly atMs: Float64Array
  readonly classIndex: Uint8Array
  readonly promptTokens: Int32Array
  /** 0: the server decides. */
  readonly answerTokens: Int32Array
  readonly audioSeconds: Float64Array
  readonly images: Int32Array
  /** In words, for the record. */
  readonly arrivals: string
}

export interface ScheduleOptions {
  readonly classes: readonly LoadClass[]
  /** Requests per second. */
  readonly rate: number
  readonly seconds: number
  readonly arrivals?: LoadArrivals
  readonly seed: number
}

const MOST_REQUESTS = 5_000_000

/** Throws `ERR_LIVE_SCHEDULE` for a rate or a duration that cannot be, or a run without requests. */
export function scheduleLoad(options: ScheduleOptions): LoadSchedule {
  const { rate, seconds, seed } = options
  const arrivals = options.arrivals ?? { kind: 'poisson' }
  if (!(rate > 0 && seconds > 0 && rate * seconds <= MOST_REQUESTS)) {
    throw new HorizonError('ERR_LIVE_SCHEDULE', 'impossible number of requests', {
      field: rate > 0 ? 'seconds' : 'rate',
      expected: `rate and seconds above 0, at most ${MOST_REQUESTS} requests in all`,
      got: `${rate} requests/s for ${seconds} s`,
    })
  }
  const atMs = arrivalTimes(arrivals, rate, seconds * 1000, createRng(seed).fork('arrivals'))
  return fill(options.classes, atMs, seed, `${arrivals.kind}, ${rate} requests/s`)
}

/** The arrivals and text lengths of a trace, and its classes where it names one of ours. `rate` rescales; `seconds` cuts. */
export function scheduleTrace(
  trace: Trace,
  options: Omit<ScheduleOptions, 'rate' | 'seconds' | 'arrivals'> & {
    readonly rate?: number | undefined
    readonly seconds?: number | undefined
  },
): LoadSchedule {
  const times =
    options.rate === undefined ? trace.arrivalMs : rescaleArrivals(trace.arrivalMs, options.rate)
  const until = (options.seconds ?? Infinity) * 1000
  const atMs = times.filter((time) => time < until)
  const schedule = fill(options.classes, atMs, options.seed, `${trace.format} trace`, trace)
  for (let i = 0; i < schedule.size; i++) {
    schedule.promptTokens[i] = trace.promptTokens[i] as number
    schedule.answerTokens[i] = trace.outputTokens[i] as number
    if ((trace.audioSeconds[i] as number) > 0)
      schedule.audioSeconds[i] = trace.audioSeconds[i] as number
    if ((trace.images[i] as number) > 0) schedule.images[i] = trace.images[i] as number
  }
  return schedule
}

function arrivalTimes(of: LoadArrivals, rate: number, untilMs: number, rng: Rng): Float64Array {
  if (of.kind === 'constant') {
    const count = Math.floor((rate * untilMs) / 1000)
    return Float64Array.from({ length: count }, (_, i) => (i * 1000) / rate)
  }
  if (of.kind === 'on-off') return onOffTimes(of.onSeconds, of.offSeconds, rate, untilMs, rng)
  const law: ArrivalProcess = 'cv' in of ? of : { kind: 'poisson' }
  return drawArrivalsUntil(gaps(law, rate), untilMs, rng)
}

/** Drawn on a clock that stands still while off. */
function onOffTimes(
  onSeconds: number,
  offSeconds: number,
  rate: number,
  untilMs: number,
  rng: Rng,
): Float64Array {
  const onMs = onSeconds * 1000
  const cycleMs = onMs + offSeconds * 1000
  if (!(onMs > 0 && offSeconds >= 0)) {
    throw new HorizonError('ERR_LIVE_SCHEDULE', 'impossible times on and off', {
      field: 'arrivals',
      expected: 'seconds on above 0, seconds off of at least 0',
      got: `${onSeconds} and ${offSeconds}`,
    })
  }
  const onUntil = Math.floor(untilMs / cycleMs) * onMs + Math.min(onMs, untilMs % cycleMs)
  const whileOn = gaps({ kind: 'poisson' }, (rate * cycleMs) / onMs)
  const times = drawArrivalsUntil(whileOn, onUntil, rng)
  return times.map((time) => Math.floor(time / onMs) * cycleMs + (time % onMs))
}

function fill(
  classes: readonly LoadClass[],
  atMs: Float64Array,
  seed: number,
  arrivals: string,
  trace?: Trace,
): LoadSchedule {
  const size = atMs.length
  if (size === 0) {
    throw new HorizonError('ERR_LIVE_SCHEDULE', 'the run has no requests', {
      field: 'seconds',
      expected: 'a rate and a duration that give at least one',
    })
  }
  const root = createRng(seed)
  const pick = root.fork('classes')
  const draws = {
    prompt: root.fork('prompts'),
    answer: root.fork('answers'),
    audio: root.fork('audio'),
    images: root.fork('images'),
  }
  const total = classes.reduce((sum, of) => sum + of.weight, 0)
  const schedule: LoadSchedule = {
    size,
    atMs,
    classIndex: new Uint8Array(size),
    promptTokens: new Int32Array(size),
    answerTokens: new Int32Array(size),
    audioSeconds: new Float64Array(size),
    images: new Int32Array(size),
    arrivals,
  }
  for (let i = 0; i < size; i++) {
    const point = pick.next() * total
    const named = classes.findIndex((of) => of.name === trace?.classNames?.[i])
    const index = named === -1 ? classAt(classes, point) : named
    const of = classes[index] as LoadClass
    schedule.classIndex[i] = index
    // Drawn for every request, used or not: streams stay paired whatever the classes are.
    schedule.promptTokens[i] = Math.max(1, Math.round(draw(of.promptTokens, draws.prompt)))
    schedule.answerTokens[i] = Math.round(draw(of.answerTokens ?? 0, draws.answer))
    schedule.audioSeconds[i] = draw(of.audioSeconds, draws.audio)
    schedule.images[i] = Math.round(draw(of.images, draws.images))
  }
  return schedule
}

function classAt(classes: readonly LoadClass[], point: number): number {
  let left = point
  let last = 0
  for (const [i, { weight }] of classes.entries()) {
    if (weight === 0) continue
    last = i
    left -= weight
    if (left < 0) return i
  }
  return last
}

function draw(of: Size, rng: Rng): number {
  const point = rng.next()
  if (typeof of === 'number') return of
  if ('min' in of) return of.min + point * (of.max - of.min)
  return of.cv === 0 ? of.mean : lognormalOf(of.mean, of.cv).sample(rng)
}
