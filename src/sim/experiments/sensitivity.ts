/**
 * @module
 * How much of the result is the model's doing: every parameter over its range, one at a time and all at once at random. Load is the
 * same share of each world's own capacity, since a world's capacity moves with its parameters.
 */
import type { ModelName } from '../omni/parameters.js'
import { type Overrides, omniParameters, omniSpec } from '../omni/spec.js'
import { RECOMMENDED } from '../policy-case.js'
import { createRng } from '../rng.js'
import { stageCapacity } from './capacity.js'
import { type Block, number, signed, table, text } from './document.js'
import {
  arrivedPct,
  type Budget,
  type Exhibit,
  FIRST_SEED,
  jobsFor,
  mean,
  type Results,
} from './exhibit.js'
import type { Point } from './job.js'
import { PAPER_MODELS } from './paper-numbers.js'
import { estimate } from './statistics.js'

const ADA = 'rtx-6000-ada'
const LITERAL = 'horizonserve-literal'
const OURS = RECOMMENDED
const OURS_MPS = `${RECOMMENDED}-mps`
const POLICIES = ['mps', 'edf-mps', LITERAL, 'literal-no-throttle', OURS, OURS_MPS]
/** Share of the capacity of the binding stage: stressed, not hopeless. */
const LOAD = 0.9
const REQUESTS = 200
/** Points below which a difference is none. */
const MARGIN = 1
/** Whole numbers of things. */
const INTEGER = /slots$|Budget$|tokensPer(Image|Video)$|unitsPerRequest$/

interface Ranged {
  readonly path: string
  readonly low: number
  readonly high: number
}

/** Parameters that are not known exactly. */
export function rangedParameters(model: ModelName): Ranged[] {
  return [...omniParameters(ADA, model)].flatMap(([path, { low, high }]) =>
    high > low ? [{ path, low, high }] : [],
  )
}

/** Evenly over the range, or over its logarithm where it spans more than a factor of three. */
export function valueAt({ path, low, high }: Ranged, share: number): number {
  const value = low > 0 && high / low > 3 ? low * (high / low) ** share : low + share * (high - low)
  return INTEGER.test(path) ? Math.round(value) : Number(value.toPrecision(4))
}

function pointOf(model: ModelName, overrides: Overrides): Point {
  const { perSecond } = stageCapacity(omniSpec(ADA, model, overrides), 0.3)
  const rate = Number((LOAD * perSecond).toPrecision(3))
  return { gpu: ADA, model, rate, longFraction: 0.3, extent: { requests: REQUESTS }, overrides }
}

/** World number `draw`: every ranged parameter at random, models in turn. */
function randomPoint(draw: number): Point {
  const model = PAPER_MODELS[draw % PAPER_MODELS.length] as ModelName
  const rng = createRng('sensitivity').fork(draw)
  const overrides = Object.fromEntries(
    rangedParameters(model).map((of) => [of.path, valueAt(of, rng.fork(of.path).next())]),
  )
  return pointOf(model, overrides)
}

const ends = (model: ModelName): { path: string; end: 'low' | 'high'; point: Point }[] =>
  rangedParameters(model).flatMap((of) =>
    (['low', 'high'] as const).map((end) => ({
      path: of.path,
      end,
      point: pointOf(model, { [of.path]: of[end] }),
    })),
  )

const draws = (count: number): Point[] => Array.from({ length: count }, (_, i) => randomPoint(i))

export const sensitivity: Exhibit = {
  id: 'sensitivity',
  title: 'Sensitivity',
  jobs: (budget) => [
    ...jobsFor(draws(budget.draws), POLICIES, 1),
    ...jobsFor(
      budget.oneAtATime.flatMap((model) => ends(model).map((of) => of.point)),
      POLICIES,
      1,
    ),
  ],
  section(budget, results) {
    return {
      id: this.id,
      title: this.title,
      blocks: [...randomBlocks(budget, results), ...oneAtATime(budget, results)],
    }
  },
}

function values(results: Results, point: Point): Record<string, number> {
  return Object.fromEntries(
    POLICIES.map((name) => [name, mean(arrivedPct(results.rows(point, name, 1)))]),
  )
}

interface Outcome {
  readonly point: Point
  /** Differences in points over all that arrived. */
  readonly literal: number
  readonly ours: number
  readonly oursToBase: number
  readonly oursTimeToBase: number
  readonly time: number
  readonly space: number
  readonly oursTime: number
  readonly oursSpace: number
}

function outcome(results: Results, point: Point): Outcome {
  const of = values(results, point)
  const at = (name: string): number => of[name] as number
  const base = Math.max(at('mps'), at('edf-mps'))
  return {
    point,
    literal: at(LITERAL) - base,
    ours: at(OURS) - at(LITERAL),
    oursToBase: at(OURS) - base,
    oursTimeToBase: at(OURS_MPS) - base,
    time: at('literal-no-throttle') - at('mps'),
    space: at(LITERAL) - at('literal-no-throttle'),
    oursTime: at(OURS_MPS) - at('mps'),
    oursSpace: at(OURS) - at(OURS_MPS),
  }
}

function randomBlocks({ draws: count }: Budget, results: Results): Block[] {
  const all = draws(count).map((point) => outcome(results, point))
  const holds = (of: readonly Outcome[], pick: (of: Outcome) => number): string =>
    of.length === 0
      ? '–'
      : number((100 * of.filter((one) => pick(one) >= -MARGIN).length) / of.length, 0)
  const rows = (['all', ...PAPER_MODELS] as const).map((model) => {
    const of = all.filter(({ point }) => model === 'all' || point.model === model)
    return [
      model,
      String(of.length),
      holds(of, (one) => one.literal),
      holds(of, (one) => one.ours),
      holds(of, (one) => one.oursToBase),
      holds(of, (one) => one.oursTimeToBase),
    ]
  })
  const part = (pick: (of: Outcome) => number): string => {
    const of = estimate(all.map(pick))
    return `${signed(of.mean)} ± ${number(of.half)}`
  }
  return [
    text(
      `All ranged parameters at random at once, ${count} worlds (RTX 6000 Ada, models in turn), load ${LOAD} of the binding stage’s capacity in that world, ${REQUESTS} requests, seed ${FIRST_SEED}. An order holds where the difference is above -${MARGIN} point over all that arrived.`,
    ),
    table(
      'Worlds in which the order holds, %',
      [
        'model',
        'worlds',
        'as printed >= best MPS baseline',
        `${OURS} >= as printed`,
        `${OURS} >= best MPS baseline`,
        `${OURS_MPS} >= best MPS baseline`,
      ],
      rows,
    ),
    table(
      'Where the gain over MPS comes from: points over all that arrived, mean over worlds',
      ['policy', 'time half (same sharing, MPS)', 'space half (throttle, assumed prices)'],
      [
        ['HorizonServe as printed', part((of) => of.time), part((of) => of.space)],
        [OURS, part((of) => of.oursTime), part((of) => of.oursSpace)],
      ],
    ),
    table(
      'The parameters that decide most: share of worlds in which HorizonServe as printed holds, %, with the parameter in the lowest and in the highest third of what was drawn',
      ['model', 'parameter', 'lowest third', 'highest third'],
      PAPER_MODELS.flatMap((model) =>
        deciding(
          all.filter((of) => of.point.model === model),
          model,
        ),
      ),
    ),
  ]
}

function deciding(all: readonly Outcome[], model: ModelName): string[][] {
  if (all.length < 6) return []
  const third = Math.floor(all.length / 3)
  const share = (of: readonly Outcome[]): number =>
    (100 * of.filter((one) => one.literal >= -MARGIN).length) / of.length
  return rangedParameters(model)
    .map(({ path }) => {
      const at = (of: Outcome): number => of.point.overrides?.[path] ?? 0
      const sorted = [...all].sort((a, b) => at(a) - at(b))
      return { path, low: share(sorted.slice(0, third)), high: share(sorted.slice(-third)) }
    })
    .sort((a, b) => Math.abs(b.high - b.low) - Math.abs(a.high - a.low))
    .slice(0, 3)
    .map(({ path, low, high }) => [model, path, number(low, 0), number(high, 0)])
}

function oneAtATime({ oneAtATime: models }: Budget, results: Results): Block[] {
  const rows = models.flatMap((model) =>
    ends(model)
      .map(({ path, end, point }) => ({ path, end, point, of: outcome(results, point) }))
      .filter(({ of }) => of.literal < -MARGIN || of.ours < -MARGIN)
      .map(({ path, end, point, of }) => [
        model,
        `${path} = ${point.overrides?.[path]} (${end})`,
        signed(of.literal),
        signed(of.ours),
      ]),
  )
  const total = models.reduce((sum, model) => sum + ends(model).length, 0)
  return [
    text(
      `One at a time (${models.join(', ')}): each ranged parameter at its low and at its high end, the others as they are, ${total} worlds. Those that break an order:`,
    ),
    table(
      'Points over all that arrived, one seed each',
      ['model', 'parameter', 'as printed - best MPS baseline', `${OURS} - as printed`],
      rows,
    ),
  ]
}
