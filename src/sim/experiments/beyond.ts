/**
 * @module
 * Beyond the paper: every policy at one stressed load, deep overload with its price, and real arrivals.
 */

import { RECOMMENDED } from '../policy-case.js'
import { stageCapacity } from './capacity.js'
import { type Block, number, signed, table, text } from './document.js'
import {
  arrivedPct,
  type Budget,
  type Exhibit,
  gain,
  jobsFor,
  mean,
  type Results,
  representative,
} from './exhibit.js'
import { EXPERIMENT_CASES, FLOORS, floorName } from './experiment-cases.js'
import type { Point, Row } from './job.js'
import type { Laboratory } from './laboratory.js'
import { PAPER_GPUS, PAPER_MODELS } from './paper-numbers.js'

const LITERAL = 'horizonserve-literal'
const ADA = 'rtx-6000-ada'

export const peers: Exhibit = {
  id: 'peers',
  title: 'Every policy at one load',
  jobs: (budget) =>
    jobsFor(
      PAPER_MODELS.map((model) => representative(ADA, model, budget)),
      [...EXPERIMENT_CASES.map((of) => of.name), 'upper-bound'],
      budget.seeds,
    ),
  section(budget, results) {
    const { seeds } = budget
    const value = (row: Row, path: 'all' | 'short' | 'long'): number =>
      100 * (row[path].overArrived ?? 0)
    const names = [...EXPERIMENT_CASES.map((of) => of.name), 'upper-bound']
    const rows = names.map((name) => [
      name,
      ...PAPER_MODELS.map((model) => {
        const of = results.rows(representative(ADA, model, budget), name, seeds)
        return (['all', 'short', 'long'] as const)
          .map((path) => number(mean(of.map((row) => value(row, path)))))
          .join(' / ')
      }),
    ])
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          `RTX 6000 Ada, 30 % long path; met, % of arrived: all / short / long path; ${seeds} seeds`,
          [
            'policy',
            ...PAPER_MODELS.map(
              (model) => `${model}, ${representative(ADA, model, budget).rate}/s`,
            ),
          ],
          rows,
        ),
        text(
          `What each is: ${EXPERIMENT_CASES.map((of) => `${of.name}: ${of.about}`).join('. ')}. The upper bound is offline and relaxed (stages do not slow each other); nothing reaches it.`,
        ),
      ],
    }
  },
}

const DEEP = [1.3, 1.6] as const
const DEEP_OURS = ['horizonserve', RECOMMENDED]
const DEEP_CASES = [LITERAL, ...DEEP_OURS, 'upper-bound']
/** Where the price is shown. */
const PRICED_CASES = ['mps', LITERAL, 'horizonserve', 'reserve-5', ...FLOORS.map(floorName)]

function deepPoint(
  model: Point['model'],
  gpu: Point['gpu'],
  factor: number,
  { minutes }: Budget,
  lab: Laboratory,
): Point {
  const { perSecond } = stageCapacity(lab.world({ gpu, model }).spec, 0.3)
  return {
    gpu,
    model,
    rate: Number((factor * perSecond).toPrecision(3)),
    longFraction: 0.3,
    extent: { minutes },
  }
}

function deepPoints(budget: Budget, lab: Laboratory): Point[] {
  return PAPER_GPUS.flatMap((gpu) =>
    PAPER_MODELS.flatMap((model) => DEEP.map((of) => deepPoint(model, gpu, of, budget, lab))),
  )
}

export const overload: Exhibit = {
  id: 'overload',
  title: 'Deep overload, and what it costs',
  jobs(budget, lab) {
    const points = deepPoints(budget, lab)
    const priced = points.filter((of) => of.gpu === ADA)
    return [
      ...jobsFor(points, DEEP_CASES, budget.ourSeeds),
      ...jobsFor(priced, PRICED_CASES, budget.seeds),
    ]
  },
  section(budget, results, lab) {
    const { ourSeeds: seeds } = budget
    const capacities = PAPER_GPUS.flatMap((gpu) =>
      PAPER_MODELS.map((model) => {
        const of = stageCapacity(lab.world({ gpu, model }).spec, 0.3)
        return [`${model}, ${gpu}`, number(of.shared, 2), number(of.downstream, 2), of.binding]
      }),
    )
    const points = deepPoints(budget, lab)
    const summary = points.map((point) => {
      const value = (name: string): number => mean(arrivedPct(results.rows(point, name, seeds)))
      return [
        `${point.model}, ${point.gpu}, ${point.rate}/s`,
        number(value(LITERAL)),
        ...DEEP_OURS.map((name) => {
          const by = gain(results, point, seeds, name, LITERAL)
          return `${number(value(name))} (${ratio(value(name), value(LITERAL))}, ${signed(by.lower)})`
        }),
        number(value('upper-bound')),
      ]
    })
    const enough = points.filter((point) => {
      const literal = mean(arrivedPct(results.rows(point, LITERAL, seeds)))
      return mean(arrivedPct(results.rows(point, RECOMMENDED, seeds))) >= 1.5 * literal
    }).length
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          'Capacity of each stage, req/s of the mix with 30 % long path, all slots busy and the GPU to itself',
          ['place', 'shared stage', 'downstream stage', 'binding'],
          capacities,
        ),
        table(
          `Met, % of arrived, at ${DEEP.join(' and ')} times the capacity of the binding stage (ratio to HorizonServe as printed; one-sided 95 % lower bound of the paired difference, points); ${seeds} seeds`,
          ['place', 'as printed', ...DEEP_OURS, 'upper bound'],
          summary,
        ),
        text(
          `${RECOMMENDED} has at least 1.5 times the attainment of HorizonServe as printed at ${enough} of ${points.length} of these points.`,
        ),
        ...points
          .filter((point) => point.gpu === ADA)
          .map((point) => price(point, PRICED_CASES, budget.seeds, results)),
        text(
          'A request counts as abandoned when it was admitted only after its deadline had passed. No request is dropped: the runs are drained, and the lost wait until load falls. Above capacity somebody must be late; these policies choose who, and the share floor decides how long the unlucky wait.',
        ),
      ],
    }
  },
}

const ratio = (a: number, b: number): string => (b > 0 ? `${(a / b).toFixed(1)}x` : '–')

/** Per path: attainment, p99 and longest wait with the abandoned included, and how many were. */
function price(point: Point, names: readonly string[], seeds: number, results: Results): Block {
  return table(
    `${point.model}, ${point.gpu}, ${point.rate} req/s: the price, short / long path; ${seeds} seeds`,
    ['policy', 'met, %', 'p99 first response, s', 'longest wait, s', 'abandoned, %', 'drain'],
    names.map((name) => {
      const rows = results.rows(point, name, seeds)
      const both = (pick: (of: Row['short']) => number, digits: number): string =>
        (['short', 'long'] as const)
          .map((path) => number(mean(rows.map((row) => pick(row[path]))), digits))
          .join(' / ')
      return [
        name,
        both((of) => 100 * (of.overArrived ?? 0), 1),
        both((of) => (of.p99Ms ?? Number.NaN) / 1000, 0),
        both((of) => of.longestWaitMs / 1000, 0),
        both((of) => (100 * of.abandoned) / of.arrived, 1),
        `${number(mean(rows.map((row) => row.drain)), 2)}x`,
      ]
    }),
  )
}

const REAL_CASES = ['vanilla', 'edf-mps', LITERAL, 'horizonserve', RECOMMENDED]

function realPoints(budget: Budget): Point[] {
  return (['azure-conv', 'azure-code'] as const).flatMap((arrivals) =>
    PAPER_MODELS.map((model) => ({ ...representative(ADA, model, budget), arrivals })),
  )
}

export const realArrivals: Exhibit = {
  id: 'real',
  title: 'Real arrivals',
  jobs: (budget) => (budget.traces ? jobsFor(realPoints(budget), REAL_CASES, budget.seeds) : []),
  section(budget, results) {
    const { seeds } = budget
    const note = text(
      'Azure LLM inference traces of 2023 (Patel et al., Splitwise, ISCA 2024; CC-BY-4.0): each seed takes another window, its arrivals rescaled to the rate, with the trace’s own lengths of text. Output modalities are laid over: no public trace has any.',
    )
    if (!budget.traces) {
      return {
        id: this.id,
        title: this.title,
        blocks: [note, text('Not run: no traces were given.')],
      }
    }
    const rows = realPoints(budget).map((point) => [
      `${point.arrivals}, ${point.model}, ${point.rate}/s`,
      ...REAL_CASES.map((name) => number(mean(arrivedPct(results.rows(point, name, seeds))))),
    ])
    const worst = realPoints(budget).map((point) =>
      gain(results, point, seeds, RECOMMENDED, LITERAL),
    )
    return {
      id: this.id,
      title: this.title,
      blocks: [
        note,
        table(`RTX 6000 Ada, met, % of arrived, ${seeds} windows`, ['place', ...REAL_CASES], rows),
        text(
          `${RECOMMENDED} minus HorizonServe as printed: ${worst.map((of) => `${signed(of.mean)} ± ${number(of.half)}`).join(', ')} points, in this order. HorizonServe as printed is below vanilla at ${realPoints(budget).filter((point) => gain(results, point, seeds, LITERAL, 'vanilla').mean < 0).length} of ${worst.length}.`,
        ),
      ],
    }
  },
}
