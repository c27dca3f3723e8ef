/**
 * @module
 * Which endpoint a request goes to. A rule is a record of small parts, like a policy: how a first response is predicted, which of the
 * endpoints that would meet the deadline is taken, and which one when none would. Ours takes the *fullest* that still meets the
 * deadline with a margin (PolyServe, arXiv:2507.17769, packs the same way), so that the others stay free for what is urgent; and where
 * every one would miss it, the one that loses least.
 */
import { ABOVE_0, expectNumber } from '../core/errors.js'
import type { EndpointBook } from './endpoint-book.js'

/** What is picked for; reused between picks. */
export interface PickRequest {
  classIndex: number
  /** Time left until its first response is due, ms. */
  budgetMs: number
  /** Endpoint that holds the request's session or prefix, or -1. */
  affinity: number
  /** 1 for the endpoints that may be taken; without it all that are ready. */
  allowed: Uint8Array | undefined
}

/** The answer; one record per rule, reused. */
export interface Pick {
  /** -1: no endpoint is ready, or none is allowed. */
  endpoint: number
  /** Predicted first response, ms. */
  predictedMs: number
  /** Whether that is within the margin. */
  meets: boolean
  /** Whether that is within the deadline at all. */
  makes: boolean
}

/** Predicts the first response of a request of a class at an endpoint, ms from now. @hot */
export type EndpointEstimate = (
  book: EndpointBook,
  endpoint: number,
  classIndex: number,
  nowMs: number,
) => number

/** Higher is taken. `predictedMs` is in [0, budget·margin] for `among`, above it for `otherwise`. @hot */
export type EndpointScore = (
  book: EndpointBook,
  endpoint: number,
  classIndex: number,
  predictedMs: number,
  nowMs: number,
) => number

/** A complete rule. Every part can be replaced alone. */
export interface EndpointRule {
  readonly name: string
  readonly estimate: EndpointEstimate
  /** Share of the time left that the prediction may take, in (0, 1]. */
  readonly margin: number
  /** Among the endpoints that meet the deadline. */
  readonly among: EndpointScore
  /** Where none does. */
  readonly otherwise: EndpointScore
  /** Most that affinity adds to a score of an endpoint that meets the deadline; it never makes one that misses it preferred. */
  readonly affinityBonus: number
}

/**
 * Requests that hold a slot, or queue for one with a chance, now: those of the scrape, less what has left since, plus what this picker
 * sent. Of its own short-path requests a picker sees the end; of all others it assumes that slots are let go at their usual pace.
 * @hot
 */
export function heldNow(book: EndpointBook, e: number, nowMs: number): number {
  const hold = book.holdMs[e]!
  const stay = hold > 0 ? Math.exp(-Math.max(0, nowMs - book.scrapedMs[e]!) / hold) : 1
  const all = book.allShortThen[e]!
  const share = all > 0 ? Math.min(1, book.ownShortThen[e]! / all) : 0
  const then = book.shortThen[e]!
  const since = book.shortSince[e]!
  const ended = book.ownShortThen[e]! + since - book.ownShort[e]!
  return (
    Math.max(0, then * share + since - ended) +
    then * (1 - share) * stay +
    (book.longThen[e]! + book.longSince[e]!) * stay
  )
}

function slotWaitMs(book: EndpointBook, e: number, held: number): number {
  const slots = book.slots[e]!
  return (Math.max(0, held - slots + 1) * book.holdMs[e]!) / slots
}

/** The published estimate, corrected by what this picker sent and saw end since the scrape, and by how wrong it has been. @hot */
export const correctedEstimate: EndpointEstimate = (book, e, c, nowMs) => {
  if (Number.isNaN(book.scrapedMs[e]!)) return (book.ownShort[e]! + book.ownLong[e]!) * 1000
  let ms = book.expectedMs[e * book.numClasses + c]!
  ms -= slotWaitMs(book, e, book.shortThen[e]! + book.longThen[e]!)
  ms += slotWaitMs(book, e, heldNow(book, e, nowMs))
  if (book.isLong[c] === 1) {
    // Those that have ended since make room, those sent take it.
    const more = book.ownLong[e]! - book.ownLongThen[e]!
    ms += more * book.longStepMs[e]!
  }
  return Math.max(0, ms) * book.drift[e]!
}

/** The published estimate as it is. @hot */
export const publishedEstimate: EndpointEstimate = (book, e, c) =>
  book.expectedMs[e * book.numClasses + c]!

/** Work that an endpoint holds, in slots. @hot */
const fullest: EndpointScore = (book, e, c, predictedMs, nowMs) =>
  heldNow(book, e, nowMs) / book.slots[e]! + (book.isLong[c] === 1 ? predictedMs / 1000 : 0)

/** Soonest first. @hot */
const soonest: EndpointScore = (_book, _e, _c, predictedMs) => -predictedMs

export interface EndpointRuleOptions {
  /** @default 'slack' */
  readonly name?: string
  /** @default 0.5 */
  readonly margin?: number
  readonly estimate?: EndpointEstimate
  readonly among?: EndpointScore
  readonly otherwise?: EndpointScore
  /** @default 1, a whole engine's worth of slots */
  readonly affinityBonus?: number
}

/** The rule. Throws `ERR_POLICIES_ENDPOINTS` for an impossible margin or bonus. */
export function endpointRule(options: EndpointRuleOptions = {}): EndpointRule {
  const { margin = 0.5, affinityBonus = 1 } = options
  expectNumber('ERR_POLICIES_ENDPOINTS', 'margin', margin, ABOVE_0, 1)
  expectNumber('ERR_POLICIES_ENDPOINTS', 'affinityBonus', affinityBonus, 0)
  return {
    name: options.name ?? 'slack',
    estimate: options.estimate ?? correctedEstimate,
    margin,
    among: options.among ?? fullest,
    otherwise: options.otherwise ?? soonest,
    affinityBonus,
  }
}

/** Applies a rule to a book: one pass over the endpoints, nothing allocated. `tie` in [0, 1) says where the pass begins. @hot */
export function pickEndpoint(
  rule: EndpointRule,
  book: EndpointBook,
  request: Readonly<PickRequest>,
  nowMs: number,
  tie: number,
  out: Pick,
): void {
  const { classIndex, budgetMs, affinity, allowed } = request
  const limitMs = budgetMs * rule.margin
  const { size } = book
  out.endpoint = -1
  out.predictedMs = Number.POSITIVE_INFINITY
  out.meets = false
  let best = Number.NEGATIVE_INFINITY
  let e = Math.floor(tie * size)
  for (let k = 0; k < size; k++, e++) {
    if (e >= size) e -= size
    if (book.ready[e] === 0 || (allowed !== undefined && allowed[e] !== 1)) continue
    const predictedMs = rule.estimate(book, e, classIndex, nowMs)
    const meets = predictedMs <= limitMs
    if (out.meets && !meets) continue
    const score =
      (meets ? rule.among : rule.otherwise)(book, e, classIndex, predictedMs, nowMs) +
      (meets && e === affinity ? rule.affinityBonus : 0)
    if (meets === out.meets && !(score > best)) continue
    best = score
    out.endpoint = e
    out.predictedMs = predictedMs
    out.meets = meets
  }
  out.makes = out.predictedMs <= budgetMs
}

/** An empty answer. */
export function createPick(): Pick {
  return { endpoint: -1, predictedMs: Number.NaN, meets: false, makes: false }
}
