/**
 * @module
 * Figure 8, the main result: attainment against arrival rate and against the long-path fraction, three models on two GPUs.
 */
import type { GpuName, ModelName } from '../omni/parameters.js'
import { type Block, number, signed, table, text } from './document.js'
import {
  arrivedPct,
  type Budget,
  completedPct,
  type Exhibit,
  gain,
  jobsFor,
  mean,
  type Results,
} from './exhibit.js'
import { BASELINES, PAPER_CASES } from './experiment-cases.js'
import type { Point } from './job.js'
import { FIGURE_8, PAPER_GPUS, PAPER_MODELS } from './paper-numbers.js'

const LITERAL = 'horizonserve-literal'
/** Ours, beside the paper's five. */
export const OURS = ['horizonserve', 'feasible-edf-0', 'reserve-5'] as const
const POLICIES = [...PAPER_CASES, ...OURS, 'upper-bound']
/** A point is stressed where the best baseline misses more than this share, in percent. */
const STRESSED_PCT = 20

type Sweep = 'rate' | 'fraction'

function sweep(gpu: GpuName, model: ModelName, kind: Sweep, minutes: number): Point[] {
  const extent = { minutes }
  return kind === 'rate'
    ? FIGURE_8.rates[model].map((rate) => ({
        gpu,
        model,
        rate,
        longFraction: FIGURE_8.longFraction,
        extent,
      }))
    : FIGURE_8.fractions.map((longFraction) => ({
        gpu,
        model,
        rate: FIGURE_8.rate,
        longFraction,
        extent,
      }))
}

export function figure8Points(minutes: number): Point[] {
  return PAPER_GPUS.flatMap((gpu) =>
    PAPER_MODELS.flatMap((model) => [
      ...sweep(gpu, model, 'rate', minutes),
      ...sweep(gpu, model, 'fraction', minutes),
    ]),
  )
}

export const figure8: Exhibit = {
  id: 'figure8',
  title: 'Figure 8: SLO attainment',
  jobs: ({ minutes, seeds }) => jobsFor(figure8Points(minutes), POLICIES, seeds),
  section(budget, results) {
    const panels = PAPER_GPUS.flatMap((gpu) =>
      PAPER_MODELS.flatMap((model) =>
        (['rate', 'fraction'] as const).map((kind) => ({ gpu, model, kind })),
      ),
    )
    return {
      id: this.id,
      title: this.title,
      blocks: [
        ...verdict(budget, results),
        ...panels.flatMap(({ gpu, model, kind }) => panel(gpu, model, kind, budget, results)),
      ],
    }
  },
}

function bestBaseline(point: Point, budget: Budget, results: Results): number {
  return Math.max(
    ...BASELINES.map((name) => mean(completedPct(results.rows(point, name, budget.seeds)))),
  )
}

function verdict(budget: Budget, results: Results): Block[] {
  const { minutes, seeds } = budget
  const ours = (point: Point): number => mean(completedPct(results.rows(point, LITERAL, seeds)))
  const quoted = FIGURE_8.quoted.map(({ gpu, model, rate, longFraction, ...paper }) => {
    const point: Point = { gpu, model, rate, longFraction, extent: { minutes } }
    const base = bestBaseline(point, budget, results)
    return [
      `${model}, ${gpu}, ${rate} req/s, ${100 * longFraction} % long`,
      `${paper.horizonServe} / ${paper.bestBaseline}`,
      number(paper.horizonServe / paper.bestBaseline, 2),
      `${number(ours(point))} / ${number(base)}`,
      number(ours(point) / base, 2),
    ]
  })
  const points = figure8Points(minutes)
  const stressed = points.filter((of) => bestBaseline(of, budget, results) < 100 - STRESSED_PCT)
  const above = stressed.filter((of) => ours(of) > bestBaseline(of, budget, results))
  const calm = points.filter((of) => !stressed.includes(of))
  const notBelow = calm.filter((of) => ours(of) >= bestBaseline(of, budget, results) - 1)
  const largest = (kind: Sweep): string => {
    const found = PAPER_GPUS.flatMap((gpu) =>
      PAPER_MODELS.flatMap((model) => sweep(gpu, model, kind, minutes)),
    ).map((point) => ({ point, ratio: ours(point) / bestBaseline(point, budget, results) }))
    const top = found.reduce((a, b) => (b.ratio > a.ratio ? b : a))
    return `${top.ratio.toFixed(2)} (${top.point.model}, ${top.point.gpu}, ${top.point.rate} req/s, ${100 * top.point.longFraction} % long)`
  }
  const failing = stressed.filter((of) => !above.includes(of))
  const byModel = PAPER_MODELS.map(
    (model) =>
      `${model} ${above.filter((of) => of.model === model).length} of ${stressed.filter((of) => of.model === model).length}`,
  )
  return [
    table(
      'The four quoted points, attainment over completed requests, %: HorizonServe as printed / best baseline',
      ['point', 'paper', 'ratio', 'ours', 'ratio'],
      quoted,
    ),
    text(
      `Largest ratio in the rate sweeps: paper ${FIGURE_8.largestRatio.rate}, ours ${largest('rate')}. In the fraction sweeps: paper ${FIGURE_8.largestRatio.fraction}, ours ${largest('fraction')}.`,
    ),
    text(
      `Stressed points (best baseline below ${100 - STRESSED_PCT} %): HorizonServe as printed is above the best baseline at ${above.length} of ${stressed.length} (${byModel.join(', ')}). Elsewhere it is not more than a point below it at ${notBelow.length} of ${calm.length}.`,
    ),
    text(
      failing.length === 0
        ? 'The model shows the shape of the paper everywhere, not its size.'
        : `Where it is not above: ${failing.map((of) => `${of.model} on ${of.gpu} at ${of.rate} req/s and ${100 * of.longFraction} % long`).join('; ')}. Two mechanisms: with every policy that loses most deadlines, differences are noise; and where the downstream stage needs arithmetic (images), the SMs that a Green Context keeps for the shared stage are missing there, so that MPS, which shares all of them, serves the long path better.`,
    ),
    text(
      'Why the ratios are smaller than the paper’s: in the model a slot is held while its request decodes, about ten seconds against a slack of half a second, so what decides the short path is whether a slot is free, and no order of the queue changes that. The paper’s baselines lose nearly everything at rates at which the model’s stages are still below capacity. We did not move any parameter towards the paper.',
    ),
    priceOfOurs(points, budget, results),
  ]
}

/** Ours against HorizonServe as printed, over all that arrived. */
function priceOfOurs(points: readonly Point[], { seeds }: Budget, results: Results): Block {
  const rows = OURS.map((name) => {
    const gains = points.map((point) => gain(results, point, seeds, name, LITERAL))
    const lowest = gains.reduce((a, b) => (b.lower < a.lower ? b : a))
    const at = points[gains.indexOf(lowest)] as Point
    return [
      name,
      signed(mean(gains.map((of) => of.mean))),
      `${gains.filter((of) => of.lower >= -1).length} of ${points.length}`,
      `${signed(lowest.mean)} (${signed(lowest.lower)}) at ${at.model}, ${at.gpu}, ${at.rate} req/s, ${100 * at.longFraction} %`,
    ]
  })
  return table(
    `Ours minus HorizonServe as printed, points over all that arrived; paired over ${seeds} seeds, with the one-sided 95 % lower bound`,
    ['policy', 'mean', 'points with lower bound >= -1', 'worst point (lower bound)'],
    rows,
  )
}

function panel(
  gpu: GpuName,
  model: ModelName,
  kind: Sweep,
  { minutes, seeds }: Budget,
  results: Results,
): Block[] {
  const points = sweep(gpu, model, kind, minutes)
  const x = (point: Point): number => (kind === 'rate' ? point.rate : 100 * point.longFraction)
  const what = kind === 'rate' ? '30 % long path' : `${FIGURE_8.rate} req/s`
  const xTitle = kind === 'rate' ? 'req/s' : 'long path, %'
  const value = (point: Point, name: string): number =>
    mean(arrivedPct(results.rows(point, name, seeds)))
  return [
    {
      kind: 'chart',
      title: `${model}, ${gpu}, ${what}`,
      xTitle,
      yTitle: 'met, % of arrived',
      yMax: 100,
      series: POLICIES.map((name) => ({
        name,
        points: points.map((point) => [x(point), value(point, name)] as const),
      })),
    },
    table(
      `${model}, ${gpu}, ${what}: over all arrived (over completed), %`,
      [xTitle, ...points.map((point) => number(x(point), kind === 'rate' ? 2 : 0))],
      POLICIES.map((name) => [
        name,
        ...points.map((point) => {
          const completed = mean(completedPct(results.rows(point, name, seeds)))
          return name === 'upper-bound'
            ? number(value(point, name))
            : `${number(value(point, name))} (${number(completed)})`
        }),
      ]),
    ),
  ]
}
