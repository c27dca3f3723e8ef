/**
 * @module
 * What picks in a simulated fleet: our rule, and what it is held against. Stock scores are as the llm-d endpoint picker computes them:
 * queue-scorer is `(max - queue) / (max - min)`, the highest score wins, ties at random.
 */
import { HorizonError } from '../../core/index.js'
import { endpointRule, type Pick, type PickRequest, pickEndpoint } from '../../policies/index.js'
import type { PickerState, StockSample } from './fleet.js'

/** Writes its pick to `out`. */
export type Picker = (request: Readonly<PickRequest>, nowMs: number, out: Pick) => void

export interface PickerCase {
  readonly name: string
  readonly about: string
  /** Whether it looks at what is scraped: its result does not depend on the interval otherwise. */
  readonly scrapes: boolean
  create(state: PickerState): Picker
}

/** The endpoint with the smallest value, ties at random. */
function smallest(
  { book, rng }: PickerState,
  value: (endpoint: number) => number,
  out: Pick,
): void {
  let best = Number.POSITIVE_INFINITY
  let ties = 0
  out.endpoint = -1
  out.predictedMs = Number.NaN
  for (let e = 0; e < book.size; e++) {
    if (book.ready[e] === 0) continue
    const of = value(e)
    if (of > best) continue
    ties = of < best ? 1 : ties + 1
    best = of
    if (ties === 1 || rng.below(ties) === 0) out.endpoint = e
  }
}

const stockCase = (
  name: string,
  about: string,
  of: (sample: StockSample) => number,
): PickerCase => ({
  name,
  about,
  scrapes: true,
  create: (state) => (_request, _nowMs, out) =>
    smallest(state, (e) => of(state.stock[e] as StockSample), out),
})

const ruleCase = (
  name: string,
  about: string,
  options: Parameters<typeof endpointRule>[0],
): PickerCase => ({
  name,
  about,
  scrapes: true,
  create({ book, rng }) {
    const rule = endpointRule({ name, ...options })
    return (request, nowMs, out) => pickEndpoint(rule, book, request, nowMs, rng.next(), out)
  },
})

export const PICKER_CASES: readonly PickerCase[] = [
  {
    name: 'random',
    about: 'any endpoint that is ready',
    scrapes: false,
    create: (state) => (_request, _nowMs, out) => smallest(state, () => 0, out),
  },
  {
    name: 'round-robin',
    about: 'one after the other',
    scrapes: false,
    create({ book }) {
      let next = 0
      return (_request, _nowMs, out) => {
        out.endpoint = -1
        out.predictedMs = Number.NaN
        for (let k = 0; k < book.size && out.endpoint === -1; k++) {
          if (book.ready[next] === 1) out.endpoint = next
          next = (next + 1) % book.size
        }
      }
    },
  },
  {
    name: 'least-request',
    about: 'fewest of this picker’s own requests under way, as Envoy counts them',
    scrapes: false,
    create: (state) => (_request, _nowMs, out) => smallest(state, (e) => own(state, e), out),
  },
  {
    name: 'power-of-two',
    about: 'the one of two drawn at random with fewer requests of this picker',
    scrapes: false,
    create(state) {
      const ready: number[] = []
      return (_request, _nowMs, out) => {
        ready.length = 0
        for (let e = 0; e < state.book.size; e++) if (state.book.ready[e] === 1) ready.push(e)
        out.predictedMs = Number.NaN
        const draw = (): number => ready[state.rng.below(Math.max(1, ready.length))] ?? -1
        const a = draw()
        const b = draw()
        out.endpoint = a >= 0 && own(state, b) < own(state, a) ? b : a
      }
    },
  },
  stockCase(
    'queue-scorer',
    'shortest queue as the stock picker reads it: the first series, which is the shared stage’s',
    (of) => of.firstSeries,
  ),
  stockCase('queue-scorer-total', 'the same, fed the queues of all stages', (of) => of.waiting),
  stockCase('load-aware', 'fewest requests waiting or running in any stage', (of) => of.active),
  ruleCase('slack', 'ours: the fullest endpoint that still meets the deadline', {}),
]

function own({ book }: PickerState, e: number): number {
  return (book.ownShort[e] as number) + (book.ownLong[e] as number)
}

/** Cases by name, in the order given. Throws `ERR_SIM_PICKER`. */
export function pickerCases(names: readonly string[]): readonly PickerCase[] {
  return names.map((name) => {
    const found = PICKER_CASES.find((of) => of.name === name)
    if (found !== undefined) return found
    throw new HorizonError('ERR_SIM_PICKER', 'unknown picker', {
      field: 'pickers',
      expected: PICKER_CASES.map((of) => of.name).join(', '),
      got: name,
    })
  })
}
