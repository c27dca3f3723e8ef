/**
 * @module
 * What a page that is opened late must know of the time before: the last minute in tenths of a second, and attainment per class in
 * spans of ten seconds over the last half hour. Bounded, whatever happens.
 */
import type { Picture } from './picture.js'

/** Wall clock ms, phase (0 short, 1 long, 2 none), short and long in the shared stage, downstream, waiting, SMs, pressure. */
export type LaneSample = readonly [
  atMs: number,
  phase: number,
  short: number,
  long: number,
  downstream: number,
  waiting: number,
  capSms: number,
  pressure: number | null,
]

/** First responses of one class in one span. */
export interface ClassSpan {
  readonly responded: number
  readonly met: number
  readonly p95Ms: number | null
  readonly longestWaitMs: number
}

export interface Span {
  readonly atMs: number
  readonly classes: Readonly<Record<string, ClassSpan>>
}

export const LANE_SAMPLES = 600
export const SPAN_MS = 10_000
export const SPANS = 180
const PHASES = { short: 0, long: 1, none: 2 } as const

export interface History {
  readonly lanes: readonly LaneSample[]
  readonly spans: readonly Span[]
  /** Takes a picture up; returns the newest sample and the span under way. */
  add(picture: Picture, atMs: number): { readonly lane: LaneSample; readonly span: Span }
}

export function createHistory(): History {
  const lanes: LaneSample[] = []
  const spans: Span[] = []
  /** Totals at the start of the span under way. */
  let start = new Map<string, { responded: number; met: number }>()

  const spanOf = (picture: Picture, atMs: number): Span => {
    const beginMs = atMs - (atMs % SPAN_MS)
    const last = spans[spans.length - 1]
    const isNew = last === undefined || last.atMs !== beginMs
    // Another scheduler counts from 0 again.
    const isOther = picture.classes.some(
      ({ name, responded }) => responded < (start.get(name)?.responded ?? 0),
    )
    if (isNew || isOther) {
      const before = isOther ? () => 0 : (n: number) => n
      start = new Map(
        picture.classes.map((c) => {
          const known = lastTotals.get(c.name) ?? c
          return [c.name, { responded: before(known.responded), met: before(known.met) }]
        }),
      )
    }
    lastTotals = new Map(picture.classes.map((c) => [c.name, c]))
    const span: Span = {
      atMs: beginMs,
      classes: Object.fromEntries(
        picture.classes.map((c) => {
          const from = start.get(c.name) ?? { responded: 0, met: 0 }
          const before = isNew ? undefined : last.classes[c.name]
          return [
            c.name,
            {
              responded: c.responded - from.responded,
              met: c.met - from.met,
              p95Ms: Number.isNaN(c.recent.p95Ms) ? null : c.recent.p95Ms,
              longestWaitMs: Math.max(before?.longestWaitMs ?? 0, c.oldestWaitMs),
            },
          ]
        }),
      ),
    }
    if (isNew) spans.push(span)
    else spans[spans.length - 1] = span
    if (spans.length > SPANS) spans.shift()
    return span
  }
  let lastTotals = new Map<string, { responded: number; met: number }>()

  return {
    lanes,
    spans,
    add(picture, atMs) {
      const { smoothedPressure } = picture
      const lane: LaneSample = [
        atMs,
        PHASES[picture.phase],
        picture.shortInShared,
        picture.longInShared,
        picture.downstream,
        picture.waiting,
        picture.capSms,
        Number.isNaN(smoothedPressure) ? null : smoothedPressure,
      ]
      lanes.push(lane)
      if (lanes.length > LANE_SAMPLES) lanes.shift()
      return { lane, span: spanOf(picture, atMs) }
    },
  }
}
