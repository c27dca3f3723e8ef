/**
 * @module
 * One world of each kind: places given back at the last token, and kept until the next stage takes the request. The readings of the paper's
 * long-path cap where places are kept; and what each policy costs whom, in both.
 */
import { HAND_OVERS } from '../omni/parameters.js'
import type { Overrides } from '../omni/spec.js'
import { RECOMMENDED } from '../policy-case.js'
import { number, table, text } from './document.js'
import { type Exhibit, FIRST_SEED, jobsFor } from './exhibit.js'
import { mean, overArrivedPct, overCompletedPct } from './fit-worlds.js'
import type { Point, Row, RowGroup } from './job.js'
import { AS_MEANT, LITERAL_READINGS } from './literal-readings.js'
import { FIGURE_8 } from './paper-numbers.js'

const KEPT: Overrides = {
  'handOver.mechanism': HAND_OVERS.indexOf('until-accepted'),
  'shared.slots': 4,
  'downstream.slots': 1,
  'shared.hostMs': 20,
  'shared.hostMsPerAnswerToken': 0,
}
const KINDS: readonly (readonly [string, Overrides])[] = [
  ['places kept until accepted, one downstream', KEPT],
  [
    'places given back, four downstream',
    { ...KEPT, 'handOver.mechanism': 0, 'downstream.slots': 4 },
  ],
]
const READINGS = ['vanilla', 'edf-mps', RECOMMENDED, ...LITERAL_READINGS.map((of) => of.name)]
const FRONTIER = [
  'vanilla',
  'edf-mps',
  AS_MEANT,
  RECOMMENDED,
  'horizonserve-places',
  'places-late-60',
]

/** Figure 8's quoted points in a world. */
function pointsIn(overrides: Overrides, minutes: number): Point[] {
  return FIGURE_8.quoted.map(({ gpu, model, rate, longFraction }) => ({
    gpu,
    model,
    rate,
    longFraction,
    extent: { minutes },
    overrides,
  }))
}

const seconds = (rows: readonly Row[], of: (row: Row) => number | null): string =>
  number(mean(rows.map((row) => of(row) ?? Number.NaN)) / 1000, 0)

const tails = (rows: readonly Row[], path: 'short' | 'long'): string =>
  (['p95Ms', 'p99Ms', 'longestWaitMs'] as const)
    .map((field: keyof RowGroup) => seconds(rows, (row) => row[path][field] as number | null))
    .join(' / ')

export const readings: Exhibit = {
  id: 'readings',
  title: 'The readings of the paper’s long-path cap',
  jobs: ({ seeds, minutes }) => jobsFor(pointsIn(KEPT, minutes), READINGS, seeds),
  section({ seeds, minutes }, results) {
    const points = pointsIn(KEPT, minutes)
    const of = (name: string): string[] =>
      points.map((point) => {
        const rows = results.rows(point, name, seeds)
        return `${number(overCompletedPct(rows), 0)} / ${number(overArrivedPct(rows), 0)}`
      })
    const [first, last] = [FIRST_SEED, FIRST_SEED + seeds - 1]
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          `${KINDS[0]?.[0]}; seeds ${first} to ${last}, ${minutes} virtual minutes; met, % over completed / over arrived`,
          [
            'case',
            ...FIGURE_8.quoted.map(
              ({ model, rate, longFraction }) => `${model} ${rate}/${100 * longFraction}`,
            ),
          ],
          [
            ['paper: best baseline', ...FIGURE_8.quoted.map((point) => number(point.bestBaseline))],
            ['paper: HorizonServe', ...FIGURE_8.quoted.map((point) => number(point.horizonServe))],
            ...READINGS.map((name) => [name, ...of(name)]),
          ],
        ),
        text(
          `${LITERAL_READINGS.length} readings: what the cap counts (and how many), what becomes of protected requests, and when N is renewed. \`${AS_MEANT}\` is the one chosen on the paper’s four numbers; it has seen HorizonServe’s rows, nothing else in the model has.`,
        ),
      ],
    }
  },
}

export const frontier: Exhibit = {
  id: 'frontier',
  title: 'What a policy costs whom, in a world of each kind',
  jobs: ({ seeds, minutes }) =>
    KINDS.flatMap(([, overrides]) => jobsFor(pointsIn(overrides, minutes), FRONTIER, seeds)),
  section({ seeds, minutes }, results) {
    const rows = KINDS.flatMap(([kind, overrides]) =>
      pointsIn(overrides, minutes).flatMap((point) =>
        FRONTIER.map((name) => {
          const of = results.rows(point, name, seeds)
          return [
            kind,
            `${point.model} ${point.rate}/${100 * point.longFraction}`,
            name,
            number(overArrivedPct(of), 0),
            tails(of, 'short'),
            tails(of, 'long'),
          ]
        }),
      ),
    )
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          `seeds ${FIRST_SEED} to ${FIRST_SEED + seeds - 1}, ${minutes} virtual minutes; met, % over arrived; first response p95 / p99 / longest wait, s`,
          ['world', 'point', 'policy', 'met', 'short path', 'long path'],
          rows,
        ),
      ],
    }
  },
}
