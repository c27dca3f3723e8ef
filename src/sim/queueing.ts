/**
 * @module
 * The queue every textbook solves: one line, c equal servers, first come first served. It exists to check the event core against closed forms
 * and to measure its speed; the serving models use the same core.
 */
import { HorizonError } from '../core/errors.js'
import type { Distribution } from './distributions.js'
import { createRng } from './rng.js'
import { createSimulation } from './simulation.js'

export interface QueueOptions {
  readonly servers: number
  /** Gaps between arrivals and service times, in milliseconds. */
  readonly gap: Distribution
  readonly service: Distribution
  readonly customers: number
  /** Customers at the start that the means leave out. */
  readonly warmup?: number
  readonly seed: number | string
}

export interface QueueResult {
  /** Mean wait in line, without service, and its 99 % confidence half-width by 30 batch means. */
  readonly meanWaitMs: number
  readonly halfWidthMs: number
  /** Share of customers that waited at all. */
  readonly waited: number
  readonly events: number
  /** Most customers in line at once. */
  readonly longestLine: number
}

const BATCHES = 30
/** 99.5 % quantile of Student's t with 29 degrees of freedom. */
const T_99 = 2.756

export function simulateQueue(options: QueueOptions): QueueResult {
  const { servers, gap, service, customers, warmup = 0, seed } = options
  const counted = customers - warmup
  if (!(servers >= 1) || !(counted >= BATCHES) || warmup < 0) {
    throw new HorizonError('ERR_SIM_QUEUE', 'nothing to measure', {
      field: servers >= 1 ? 'customers' : 'servers',
      expected: servers >= 1 ? `at least ${BATCHES} more than warmup` : 'at least 1',
      got: servers >= 1 ? customers : servers,
    })
  }
  const root = createRng(seed)
  const gaps = root.fork('gaps')
  const services = root.fork('services')
  const sim = createSimulation()
  const sums = new Float64Array(BATCHES)
  const counts = new Float64Array(BATCHES)
  // The line holds arrival times in a ring that doubles: memory follows the line, not the customers served.
  let line = new Float64Array(64)
  let head = 0
  let length = 0
  let longest = 0
  let idle = servers
  let arrived = 0
  let started = 0
  let waited = 0

  function start(arrivalMs: number): void {
    const index = started++ - warmup
    if (index >= 0) {
      const wait = sim.nowMs - arrivalMs
      const batch = Math.floor((index * BATCHES) / counted)
      sums[batch] = (sums[batch] as number) + wait
      counts[batch] = (counts[batch] as number) + 1
      if (wait > 0) waited++
    }
    sim.after(service.sample(services), leave)
  }

  const leave = sim.kind(0, () => {
    if (length === 0) {
      idle++
      return
    }
    const arrivalMs = line[head] as number
    head = (head + 1) & (line.length - 1)
    length--
    start(arrivalMs)
  })

  const arrive = sim.kind(1, () => {
    if (++arrived < customers) sim.after(gap.sample(gaps), arrive)
    if (idle > 0) {
      idle--
      start(sim.nowMs)
      return
    }
    if (length === line.length) {
      const larger = new Float64Array(line.length * 2)
      for (let i = 0; i < length; i++) larger[i] = line[(head + i) & (line.length - 1)] as number
      line = larger
      head = 0
    }
    line[(head + length) & (line.length - 1)] = sim.nowMs
    length++
    if (length > longest) longest = length
  })

  sim.after(gap.sample(gaps), arrive)
  sim.run()
  const means = sums.map((sum, batch) => sum / (counts[batch] as number))
  const meanWaitMs = means.reduce((sum, mean) => sum + mean, 0) / BATCHES
  const spread = means.reduce((sum, mean) => sum + (mean - meanWaitMs) ** 2, 0) / (BATCHES - 1)
  return {
    meanWaitMs,
    halfWidthMs: T_99 * Math.sqrt(spread / BATCHES),
    waited: waited / counted,
    events: sim.events,
    longestLine: longest,
  }
}

/** Probability that a customer of M/M/c waits (Erlang's C formula), for a load of `load = λ/μ` servers' worth of work. */
export function erlangC(servers: number, load: number): number {
  // Erlang's B by its recursion, which never forms a factorial.
  let blocking = 1
  for (let k = 1; k <= servers; k++) blocking = (load * blocking) / (k + load * blocking)
  const utilization = load / servers
  return blocking / (1 - utilization * (1 - blocking))
}

/** Mean wait of M/M/c in the unit of `serviceMean`. */
export function mmcWait(servers: number, gapMean: number, serviceMean: number): number {
  const load = serviceMean / gapMean
  return (erlangC(servers, load) * serviceMean) / (servers - load)
}

/** Mean wait of M/G/1 (Pollaczek and Khinchine): exponential service has `cv` 1, constant service 0. */
export function mg1Wait(gapMean: number, serviceMean: number, cv: number): number {
  const utilization = serviceMean / gapMean
  return (utilization * serviceMean * (1 + cv * cv)) / (2 * (1 - utilization))
}
