/**
 * @module
 * The hard byte budget of an answer. Clients cut long answers (one at 10 KB, silently), and an agent that reads half a list
 * believes it whole. So an answer is made to fit: lists are paged, texts are shortened with a mark, and what still does not
 * fit becomes an error that says how to ask for less.
 */

/** Bytes of the whole result as JSON, text and structured content together. Below the smallest known cut of 10,000. */
export const MAX_ANSWER_BYTES = 9000

/** What a tool computed, before it is made to fit. */
export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  /** Key of the list in `body` that may be cut into pages. */
  readonly paged?: string
  /** Where the page starts. @default 0 */
  readonly from?: number
}

/** The result of a tool call, in the protocol's form. */
export interface FittedResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  /** The protocol's results are open records. */
  readonly [key: string]: unknown
}

/** Longest text inside an answer, at first and when that was too much. */
const TEXT_LIMITS = [600, 200, 80] as const

/** Fits an answer into `maxBytes`. */
export function fitAnswer(answer: Answer, maxBytes = MAX_ANSWER_BYTES): FittedResult {
  for (const limit of TEXT_LIMITS) {
    const body = clip(answer.body, limit) as Record<string, unknown>
    const result = answer.paged === undefined ? whole(body) : page(body, answer, maxBytes)
    if (result !== undefined && bytesOf(result) <= maxBytes) return result
  }
  return failure(
    'the answer is larger than an agent may be sent; ask for one item, or a shorter list',
    maxBytes,
  )
}

/** An error result: what is wrong and what to do next. */
export function failure(text: string, maxBytes = MAX_ANSWER_BYTES): FittedResult {
  // Halved until it fits: one character may take twelve bytes once it is written as JSON.
  for (let limit = 2000; ; limit = limit >> 1) {
    const content = [{ type: 'text' as const, text: String(clip(text, limit)) }]
    if (limit === 0 || bytesOf({ content, isError: true }) <= maxBytes)
      return { content, isError: true }
  }
}

/** As many items as fit, with the cursor of the next page. */
function page(
  body: Record<string, unknown>,
  answer: Answer,
  maxBytes: number,
): FittedResult | undefined {
  const key = answer.paged!
  const from = answer.from ?? 0
  const all = body[key] as readonly unknown[]
  const upTo = (count: number): FittedResult => {
    const more = from + count < all.length
    return whole({
      ...body,
      [key]: all.slice(from, from + count),
      ...(more && { nextCursor: String(from + count) }),
    })
  }
  let fits = 0
  let tooMany = all.length - from + 1
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1
    if (bytesOf(upTo(middle)) <= maxBytes) fits = middle
    else tooMany = middle
  }
  // A page without an item would send an agent round in circles.
  return fits === 0 && all.length > from ? undefined : upTo(fits)
}

function whole(body: Record<string, unknown>): FittedResult {
  return { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: body }
}

function bytesOf(result: FittedResult): number {
  return Buffer.byteLength(JSON.stringify(result))
}

function clip(value: unknown, limit: number): unknown {
  if (typeof value === 'string')
    return value.length <= limit
      ? value
      : `${value.slice(0, limit)}... (${value.length - limit} more)`
  if (Array.isArray(value)) return value.map((item) => clip(item, limit))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, clip(item, limit)]))
  return value
}
