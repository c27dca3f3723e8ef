import { describe, expect, test } from 'vitest'
import {
  createEndpointBook,
  createPick,
  emptySample,
  endpointRule,
  heldNow,
  type PickRequest,
  pickEndpoint,
} from '../../src/policies/index.js'

const CLASSES = [{ path: 'short' }, { path: 'long' }] as const

/** Endpoints with so many short-path requests in their four slots, seen at 0 ms. */
function bookOf(held: readonly number[]) {
  const book = createEndpointBook(CLASSES)
  for (const inShared of held) {
    const e = book.add()
    const sample = emptySample(2)
    sample.expectedMs[0] = 100 + Math.max(0, inShared - 3) * 1000
    sample.expectedMs[1] = 5000
    sample.inShared[0] = inShared
    sample.inFlight[0] = inShared
    sample.slots = 4
    sample.holdMs = 4000
    sample.longStepMs = 2000
    book.beginScrape(e, 0)
    book.endScrape(e, sample)
  }
  return book
}

function pickFrom(
  book: ReturnType<typeof bookOf>,
  request: Partial<PickRequest> = {},
  nowMs = 1,
): ReturnType<typeof createPick> {
  const out = createPick()
  const whole = { classIndex: 0, budgetMs: 500, affinity: -1, allowed: undefined, ...request }
  pickEndpoint(endpointRule(), book, whole, nowMs, 0.3, out)
  return out
}

describe('the endpoint rule', () => {
  test('takes the fullest endpoint that still meets the deadline', () => {
    expect(pickFrom(bookOf([0, 3, 1, 4])).endpoint).toBe(1)
  })

  test('what it sent itself since the scrape counts at once', () => {
    const book = bookOf([0, 3, 1])
    book.sent(1, 0)
    expect(heldNow(book, 1, 1)).toBeCloseTo(4, 1)
    expect(pickFrom(book).endpoint).toBe(2)
    // And what ended makes room again.
    book.ended(1, 0)
    expect(pickFrom(book).endpoint).toBe(1)
  })

  test('a request sent while a scrape is under way is not forgotten when it comes back', () => {
    const book = bookOf([0])
    book.beginScrape(0, 10)
    book.sent(0, 0)
    book.endScrape(0, { ...emptySample(2), slots: 4, holdMs: 4000 })
    expect(heldNow(book, 0, 10)).toBeCloseTo(1, 5)
  })

  test('where every endpoint would miss it, the one that loses least', () => {
    const pick = pickFrom(bookOf([7, 5, 6]))
    expect(pick).toMatchObject({ endpoint: 1, meets: false, makes: false })
  })

  test('affinity is a bonus among those that meet the deadline, and no more', () => {
    expect(pickFrom(bookOf([3, 2, 0]), { affinity: 1 }).endpoint).toBe(1)
    expect(pickFrom(bookOf([3, 2, 4]), { affinity: 2 }).endpoint).toBe(0)
    // Bounded: four slots emptier is too far.
    expect(pickFrom(bookOf([3, 0, 0]), { affinity: 1 }).endpoint).toBe(1)
    expect(
      (() => {
        const out = createPick()
        const request = { classIndex: 0, budgetMs: 500, affinity: 1, allowed: undefined }
        pickEndpoint(endpointRule({ affinityBonus: 0.1 }), bookOf([3, 0]), request, 1, 0, out)
        return out.endpoint
      })(),
    ).toBe(0)
  })

  test('a late endpoint is believed less, though its page says nothing', () => {
    const book = bookOf([3, 2])
    for (let i = 0; i < 30; i++) book.responded(0, 900, 100)
    expect(pickFrom(book).endpoint).toBe(1)
  })

  test('only what is ready and allowed', () => {
    const book = bookOf([3, 2])
    book.remove(0)
    expect(pickFrom(book).endpoint).toBe(1)
    expect(pickFrom(book, { allowed: Uint8Array.of(1, 0) }).endpoint).toBe(-1)
    // The place of an endpoint that is gone is used again, empty.
    expect(book.add()).toBe(0)
    expect(heldNow(book, 0, 1)).toBe(0)
  })

  test('impossible parts are refused', () => {
    expect(() => endpointRule({ margin: 0 })).toThrow(/ERR|margin/)
    expect(() => createEndpointBook([])).toThrow(/classes/)
  })
})
