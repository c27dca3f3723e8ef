/**
 * @module
 * One size of input, measured until its median is known: warm-ups thrown away, then probes one at a time until the bootstrap interval
 * of the median is narrow, or the patience is over.
 */
import { createRng } from '../../sim/index.js'
import {
  firstResponseMs,
  isAnswered,
  type ProbeServer,
  type ProbeShape,
  type ProbeTimes,
} from './probe.js'

export interface RungOptions {
  /** @default 2 */
  readonly warmUps?: number
  /** @default 8 */
  readonly least?: number
  /** @default 48 */
  readonly most?: number
  /** Width of the interval over the median. @default 0.05 */
  readonly within?: number
}

export interface Rung {
  readonly shape: ProbeShape
  readonly times: readonly ProbeTimes[]
  readonly medianMs: number
  readonly p95Ms: number
  /** Width of the 95 % interval of the median over the median. */
  readonly width: number
  /** The width asked for was reached. */
  readonly isSettled: boolean
}

/** undefined: the server does not answer this shape. */
export async function measureRung(
  server: ProbeServer,
  shape: ProbeShape,
  options: RungOptions = {},
): Promise<Rung | undefined> {
  const { warmUps = 2, least = 8, most = 48, within = 0.05 } = options
  for (let i = 0; i < warmUps; i++) {
    if (!isAnswered(shape.output, await server.probe(shape))) return undefined
  }
  const times: ProbeTimes[] = []
  const values: number[] = []
  let width = Number.POSITIVE_INFINITY
  while (values.length < most && !(values.length >= least && width < within)) {
    const one = await server.probe(shape)
    if (!isAnswered(shape.output, one)) return undefined
    times.push(one)
    values.push(firstResponseMs(shape.output, one))
    width = medianWidth(values)
  }
  const sorted = [...values].sort((a, b) => a - b)
  return {
    shape,
    times,
    medianMs: median(sorted),
    p95Ms: sorted[Math.ceil(0.95 * sorted.length) - 1]!,
    width,
    isSettled: width < within,
  }
}

export function median(sorted: readonly number[]): number {
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

const RESAMPLES = 400

/** Width of the 95 % bootstrap interval of the median, over the median. */
export function medianWidth(values: readonly number[]): number {
  if (values.length < 3) return Number.POSITIVE_INFINITY
  const rng = createRng(values.length)
  const medians: number[] = []
  for (let k = 0; k < RESAMPLES; k++) {
    const drawn = values.map(() => values[Math.floor(rng.next() * values.length)]!)
    medians.push(median(drawn.sort((a, b) => a - b)))
  }
  medians.sort((a, b) => a - b)
  const low = medians[Math.floor(0.025 * RESAMPLES)]!
  const high = medians[Math.ceil(0.975 * RESAMPLES) - 1]!
  return (high - low) / median([...values].sort((a, b) => a - b))
}
