/**
 * @module
 * The paper's motivation: solo latencies (figure 2), the collapse of the short path (figure 3), the cost of full allocation (figure 4).
 * Figures 2 and 4 are inputs of the model: that they come out again shows that they went in.
 */
import { type Block, number, table, text } from './document.js'
import { type Exhibit, jobsFor, mean, type Results } from './exhibit.js'
import type { Point } from './job.js'
import { FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_8, PAPER_MODELS } from './paper-numbers.js'

const ADA = 'rtx-6000-ada'

export const figure2: Exhibit = {
  id: 'figure2',
  title: 'Figure 2: solo latencies (an input)',
  jobs: () => [],
  section(_budget, _results, lab) {
    const rows = PAPER_MODELS.map((model) => {
      const { classes } = lab.world({ gpu: ADA, model }).calibration
      const over = (path: string): number[] =>
        classes.filter((of) => of.path === path).map((of) => of.soloP95Ms)
      const [short, long] = [mean(over('short')), mean(over('long'))]
      const widest = Math.max(...over('long')) / Math.min(...over('short'))
      return [
        model,
        String(FIGURE_2[model]),
        number(long / short, 0),
        number(widest, 0),
        number(short, 0),
        number(long / 1000),
      ]
    })
    const head = ['model', 'paper', 'ours, means', 'ours, widest', 'short, ms', 'long, s']
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table('Solo p95 first response, long path over short path, RTX 6000 Ada', head, rows),
        text(
          'An input: the length of spoken answers and the size of images were set from these ratios, so agreement proves nothing. The paper does not say which two classes its ratio compares; ours are the mean over the classes of each path, and the longest over the shortest.',
        ),
      ],
    }
  },
}

const FRACTIONS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
const FIGURE_3_MODELS = ['qwen2.5-omni', 'bagel'] as const
const figure3Point = (
  model: 'qwen2.5-omni' | 'bagel',
  longFraction: number,
  minutes: number,
): Point => ({
  gpu: ADA,
  model,
  rate: FIGURE_8.rate,
  longFraction,
  extent: { minutes },
})

export const figure3: Exhibit = {
  id: 'figure3',
  title: 'Figure 3: long-path traffic and the short path',
  jobs: ({ minutes, seeds }) =>
    jobsFor(
      FIGURE_3_MODELS.flatMap((model) => FRACTIONS.map((x) => figure3Point(model, x, minutes))),
      ['vanilla'],
      seeds,
    ),
  section({ minutes, seeds }, results, lab) {
    const spoken = lab.world({ gpu: ADA, model: 'qwen2.5-omni' }).spec.spokenAnswerTokens
    const shortPct = (model: 'qwen2.5-omni' | 'bagel', x: number, name?: string): number =>
      mean(
        results.rows(figure3Point(model, x, minutes), 'vanilla', seeds).map((row) => {
          const of = name === undefined ? row.short : row.classes[name]
          return 100 * (of?.overArrived ?? 0)
        }),
      )
    const blocks: Block[] = FIGURE_3_MODELS.flatMap((model): Block[] => [
      {
        kind: 'chart',
        title: `${model}: short path under vanilla`,
        xTitle: 'long path, %',
        yTitle: 'met their SLO, %',
        yMax: 100,
        series: [
          {
            name: 'text (t2t)',
            points: FRACTIONS.map((x) => [100 * x, shortPct(model, x, 't2t')]),
          },
          { name: 'all short path', points: FRACTIONS.map((x) => [100 * x, shortPct(model, x)]) },
        ],
      },
      table(
        `${model}, vanilla, ${FIGURE_8.rate} req/s, RTX 6000 Ada: short path that met its SLO, % of arrived`,
        ['long path', ...FRACTIONS.map((x) => `${100 * x} %`)],
        [
          ['t2t', ...FRACTIONS.map((x) => number(shortPct(model, x, 't2t')))],
          ['all short', ...FRACTIONS.map((x) => number(shortPct(model, x)))],
        ],
      ),
    ])
    const path = FRACTIONS.map((x) => shortPct('bagel', x, 't2t'))
    const [from, to, lowest] = [path[0] as number, path.at(-1) as number, Math.min(...path)]
    const at = 100 * (FRACTIONS[path.indexOf(lowest)] as number)
    blocks.push(
      text(
        `Paper, BAGEL text: ${FIGURE_3.from} % falls to ${FIGURE_3.to} %, more than ten times. Ours: ${number(from)} % without long path, ${number(to)} % at 60 %, lowest ${number(lowest)} % at ${number(at, 0)} %. ${from > 10 * to ? 'The model shows the collapse.' : 'The model does not show the collapse.'} At a fixed rate long-path requests take the place of short ones, and in the model they hold slots of the shared stage for a shorter time (a spoken answer is ${spoken} tokens on average, a written one some 175; an image request decodes nothing), so that more of them leave the shared stage emptier. What pulls the other way is the downstream stage, which makes every step longer while it runs. The paper’s collapse needs long-path requests that occupy the shared stage for longer than text does. It prints neither rate nor policy of this sweep; ours is ${FIGURE_8.rate} req/s under vanilla.`,
      ),
    )
    return { id: this.id, title: this.title, blocks }
  },
}

export const figure4: Exhibit = {
  id: 'figure4',
  title: 'Figure 4: SMs of the shared stage (an input)',
  jobs: () => [],
  section(_budget, _results: Results, lab) {
    const rows = PAPER_MODELS.map((model) => {
      const { spec, calibration } = lab.world({ gpu: ADA, model })
      const { levels } = calibration.ladder
      const of = lab.sweep({ gpu: ADA, model })
      const scap = levels[levels.length - 1] as number
      const at = (sms: number) => of.find((row) => row.sms === sms)
      const best = at(scap)
      const full = at(spec.totalSms)
      return [
        model,
        levels.join(', '),
        number((full?.decodeTpotMs ?? Number.NaN) / (best?.decodeTpotMs ?? Number.NaN), 2),
        number((full?.corunTtftMs ?? Number.NaN) / (best?.corunTtftMs ?? Number.NaN), 2),
      ]
    })
    const { decodeTpotMs, corunTtftMs } = FIGURE_4
    rows.unshift([
      'paper',
      '80 of 120 is best',
      number(decodeTpotMs[120] / decodeTpotMs[80], 2),
      number(corunTtftMs[120] / corunTtftMs[80], 2),
    ])
    return {
      id: this.id,
      title: this.title,
      blocks: [
        table(
          'Full allocation over the calibrated Scap, RTX 6000 Ada',
          ['model', 'ladder, SMs', 'decode TPOT', 'co-running TTFT'],
          rows,
        ),
        text(
          'An input: the ratios of figure 4 are how the model prices full allocation, for every GPU and model alike, since the paper names neither. This is the assumed half of the system: everything the SM throttle gains below rests on it. Ours are smaller where part of a step is host time, which no SM allocation changes.',
        ),
      ],
    }
  },
}
