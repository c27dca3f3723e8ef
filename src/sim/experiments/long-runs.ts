/**
 * @module
 * Long runs: many requests of every class, so that rare classes and tails are seen, where fifteen minutes hold a handful.
 */

import { RECOMMENDED } from '../policy-case.js'
import { mixByLongFraction } from '../workload/class-mix.js'
import { number, signed, table, text } from './document.js'
import {
  arrivedPct,
  type Budget,
  type Exhibit,
  gain,
  jobsFor,
  mean,
  representative,
} from './exhibit.js'
import type { Point } from './job.js'
import type { Laboratory } from './laboratory.js'
import { PAPER_MODELS } from './paper-numbers.js'

const LITERAL = 'horizonserve-literal'
const CASES = ['edf-mps', LITERAL, 'horizonserve', RECOMMENDED]

/** So many requests that the rarest class has the number asked for, on average. */
function longPoints(budget: Budget, lab: Laboratory): Point[] {
  return PAPER_MODELS.map((model) => {
    const point = representative('rtx-6000-ada', model, budget)
    const mix = mixByLongFraction(lab.world(point).spec.classes, point.longFraction)
    const rarest = Math.min(...[...mix].filter((share) => share > 0))
    return { ...point, extent: { requests: Math.ceil(budget.longRunPerClass / rarest) } }
  })
}

export const longRuns: Exhibit = {
  id: 'long',
  title: 'Long runs',
  jobs: (budget, lab) =>
    budget.longRunPerClass === 0 ? [] : jobsFor(longPoints(budget, lab), CASES, budget.ourSeeds),
  section(budget, results, lab) {
    if (budget.longRunPerClass === 0) {
      return {
        id: this.id,
        title: this.title,
        blocks: [text('Not run: `--full` runs 2,000 requests per class and more, over 20 seeds.')],
      }
    }
    const { ourSeeds: seeds } = budget
    const rows = longPoints(budget, lab).map((point) => [
      `${point.model}, ${point.rate}/s`,
      ...CASES.map((name) => number(mean(arrivedPct(results.rows(point, name, seeds))))),
      ...['horizonserve', RECOMMENDED].map((name) => {
        const by = gain(results, point, seeds, name, LITERAL)
        return `${signed(by.mean)} (${signed(by.lower)})`
      }),
    ])
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          `RTX 6000 Ada, 30 % long path, at least ${budget.longRunPerClass} requests per class on average, ${seeds} seeds: met, % of arrived; gain on HorizonServe as printed in points, with the one-sided 95 % lower bound`,
          ['place', ...CASES, 'horizonserve, gain', `${RECOMMENDED}, gain`],
          rows,
        ),
      ],
    }
  },
}
