/**
 * @module
 * What one picker knows of its endpoints: the last scrape of each, and what this picker itself sent there, saw answered and saw end
 * since that scrape was asked for. Columns over endpoints, so that a pick allocates nothing.
 */
import { bytes, doubles } from '../core/columns.js'
import { expectInteger, expectNumber } from '../core/errors.js'
import type { EndpointSample } from './endpoint-outlook.js'

export interface EndpointClass {
  readonly path: 'short' | 'long'
}

export interface EndpointBook {
  readonly numClasses: number
  /** 1 for a long-path class. */
  readonly isLong: Uint8Array
  /** Endpoints are 0 to `size - 1`; a removed one is not ready until its place is used again. */
  readonly size: number
  readonly ready: Uint8Array
  /** 1 for a place that belongs to an endpoint, ready or not. */
  readonly reserved: Uint8Array
  /** When the scrape that is known was asked for, ms; NaN before the first. */
  readonly scrapedMs: Float64Array
  /** Requests that held a slot or queued for one with a chance, by path, as scraped. */
  readonly shortThen: Float64Array
  readonly longThen: Float64Array
  /** All short-path requests there, hopeless ones included. */
  readonly allShortThen: Float64Array
  readonly slots: Float64Array
  readonly holdMs: Float64Array
  readonly longStepMs: Float64Array
  /** By `endpoint * numClasses + class`. */
  readonly expectedMs: Float64Array
  /** Requests of this picker under way now. */
  readonly ownShort: Float64Array
  readonly ownLong: Float64Array
  /** The same when the scrape was asked for. */
  readonly ownShortThen: Float64Array
  readonly ownLongThen: Float64Array
  /** Requests that this picker sent since then. */
  readonly shortSince: Float64Array
  readonly longSince: Float64Array
  /** How much later this picker's requests were answered than predicted, at least 1: catches what a frozen page hides. */
  readonly drift: Float64Array
  /** Takes up an endpoint; returns its place. */
  add(): number
  remove(endpoint: number): void
  /** A scrape is asked for: what is sent from now on may not be in it. */
  beginScrape(endpoint: number, nowMs: number): void
  /** Its answer. */
  endScrape(endpoint: number, sample: Readonly<EndpointSample>): void
  sent(endpoint: number, classIndex: number): void
  /** The first response of a request of this picker. */
  responded(endpoint: number, tookMs: number, predictedMs: number): void
  /** It ended, whether it was answered or not. */
  ended(endpoint: number, classIndex: number): void
}

/** Weight of a new response in the drift, and the most that one counts. */
const DRIFT_GAIN = 0.1
const MOST_DRIFT = 8

/** Throws `ERR_POLICIES_ENDPOINTS` for no classes or a capacity that is none. */
export function createEndpointBook(
  classes: readonly EndpointClass[],
  capacity = 1024,
): EndpointBook {
  expectInteger('ERR_POLICIES_ENDPOINTS', 'capacity', capacity, 1, 1 << 20)
  expectInteger('ERR_POLICIES_ENDPOINTS', 'classes', classes.length, 1)
  const numClasses = classes.length
  const isLong = Uint8Array.from(classes, ({ path }) => (path === 'long' ? 1 : 0))
  const column = (): Float64Array => doubles(capacity)
  const perClass = (): Float64Array => doubles(capacity * numClasses)
  const askedMs = column()
  const shortAsked = column()
  const longAsked = column()
  const shortSent = column()
  const longSent = column()
  const shortSentAsked = column()
  const longSentAsked = column()
  let size = 0

  const clear = (e: number): void => {
    for (const of of [
      book.shortThen,
      book.longThen,
      book.allShortThen,
      book.holdMs,
      book.longStepMs,
      book.ownShort,
      book.ownLong,
      book.ownShortThen,
      book.ownLongThen,
      book.shortSince,
      book.longSince,
      shortAsked,
      longAsked,
      shortSent,
      longSent,
      shortSentAsked,
      longSentAsked,
    ])
      of[e] = 0
    book.scrapedMs[e] = Number.NaN
    book.slots[e] = 1
    book.drift[e] = 1
    book.expectedMs.fill(0, e * numClasses, (e + 1) * numClasses)
  }

  const book: EndpointBook = {
    numClasses,
    isLong,
    get size() {
      return size
    },
    ready: bytes(capacity),
    reserved: bytes(capacity),
    scrapedMs: column().fill(Number.NaN),
    shortThen: column(),
    longThen: column(),
    allShortThen: column(),
    slots: column().fill(1),
    holdMs: column(),
    longStepMs: column(),
    expectedMs: perClass(),
    ownShort: column(),
    ownLong: column(),
    ownShortThen: column(),
    ownLongThen: column(),
    shortSince: column(),
    longSince: column(),
    drift: column().fill(1),
    add() {
      // A place is taken again only when nothing of its last endpoint is under way.
      let e = 0
      while (e < size && (book.reserved[e] === 1 || book.ownShort[e]! + book.ownLong[e]! > 0)) e++
      expectNumber('ERR_POLICIES_ENDPOINTS', 'endpoints', e + 1, 1, capacity)
      if (e === size) size++
      clear(e)
      book.ready[e] = 1
      book.reserved[e] = 1
      return e
    },
    remove(e) {
      book.ready[e] = 0
      book.reserved[e] = 0
    },
    beginScrape(e, nowMs) {
      askedMs[e] = nowMs
      shortAsked[e] = book.ownShort[e]!
      longAsked[e] = book.ownLong[e]!
      shortSentAsked[e] = shortSent[e]!
      longSentAsked[e] = longSent[e]!
    },
    endScrape(e, sample) {
      book.scrapedMs[e] = askedMs[e]!
      book.slots[e] = Math.max(1, sample.slots)
      book.holdMs[e] = sample.holdMs
      book.longStepMs[e] = sample.longStepMs
      book.ownShortThen[e] = shortAsked[e]!
      book.ownLongThen[e] = longAsked[e]!
      book.shortSince[e] = shortSent[e]! - shortSentAsked[e]!
      book.longSince[e] = longSent[e]! - longSentAsked[e]!
      let short = 0
      let long = 0
      let all = 0
      for (let c = 0; c < numClasses; c++) {
        book.expectedMs[e * numClasses + c] = sample.expectedMs[c]!
        const held = sample.inShared[c]! + sample.waiting[c]! - sample.lost[c]!
        if (isLong[c] === 1) long += held
        else {
          short += held
          all += sample.inShared[c]! + sample.waiting[c]!
        }
      }
      book.shortThen[e] = short
      book.longThen[e] = long
      book.allShortThen[e] = all
    },
    sent(e, c) {
      if (isLong[c] === 1) {
        book.ownLong[e]! += 1
        longSent[e]! += 1
        book.longSince[e]! += 1
      } else {
        book.ownShort[e]! += 1
        shortSent[e]! += 1
        book.shortSince[e]! += 1
      }
    },
    responded(e, tookMs, predictedMs) {
      if (!(predictedMs > 0) || !(tookMs >= 0)) return
      const ratio = Math.min(MOST_DRIFT, Math.max(1, tookMs / predictedMs))
      book.drift[e]! += DRIFT_GAIN * (ratio - book.drift[e]!)
    },
    ended(e, c) {
      const own = isLong[c] === 1 ? book.ownLong : book.ownShort
      own[e] = Math.max(0, own[e]! - 1)
    },
  }
  return book
}
