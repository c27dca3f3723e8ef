/** The small parts of the core, each against its own statement. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketMs, bucketOf, NUM_BUCKETS } from '../../src/core/bucket.js'
import { HorizonError, isHorizonError } from '../../src/core/errors.js'
import { createEntry, createHeap } from '../../src/core/heap.js'
import { createLadder, snapToLevel } from '../../src/core/ladder.js'
import { LatencyHistogram } from '../../src/core/latency-histogram.js'
import { createClassTable, MAX_CLASSES } from '../../src/core/request-class.js'
import { createRequestTable } from '../../src/core/request-table.js'
import type { WaitingList } from '../../src/core/waiting-lists.js'
import { thrownBy } from '../support/fixture.js'
import { runs } from '../support/runs.js'

test('a bucket is the smallest edge not below, at most an eighth above', () => {
  fc.assert(
    fc.property(fc.double({ min: 2 ** -4, max: 2 ** 28, noNaN: true }), (ms) => {
      const edge = bucketMs[bucketOf(ms)]!
      expect(edge).toBeGreaterThanOrEqual(ms)
      expect(edge).toBeLessThanOrEqual(ms * 1.125)
      if (bucketOf(ms) > 0) expect(bucketMs[bucketOf(ms) - 1]).toBeLessThan(ms)
    }),
    { numRuns: runs(500, 10_000) },
  )
  for (let b = 0; b < NUM_BUCKETS; b++) expect(bucketOf(bucketMs[b]!)).toBe(b)
  expect([0, -1, Number.NaN, 1e-9].map(bucketOf)).toEqual([0, 0, 0, 0])
  expect([1e300, Number.POSITIVE_INFINITY].map(bucketOf)).toEqual([
    NUM_BUCKETS - 1,
    NUM_BUCKETS - 1,
  ])
})

test('quantiles are within 1.6 % of the nearest rank, never below it', () => {
  const latency = fc.double({ min: 0.1, max: 1e6, noNaN: true })
  fc.assert(
    fc.property(fc.array(latency, { minLength: 1, maxLength: 200, size: 'max' }), (values) => {
      const histogram = new LatencyHistogram()
      for (const value of values) histogram.record(value)
      const sorted = [...values].sort((a, b) => a - b)
      for (const q of [0, 0.5, 0.95, 0.99, 1]) {
        const exact = sorted[Math.max(1, Math.ceil(q * sorted.length)) - 1]!
        expect(histogram.quantile(q)).toBeGreaterThanOrEqual(exact * (1 - 1e-12))
        expect(histogram.quantile(q)).toBeLessThanOrEqual(exact * 1.016)
      }
      expect(histogram.max).toBe(sorted[sorted.length - 1])
      expect(histogram.mean).toBeCloseTo(values.reduce((a, b) => a + b, 0) / values.length, 6)
    }),
    { numRuns: runs(50, 10_000) },
  )
  const empty = new LatencyHistogram()
  expect([empty.quantile(0.5), empty.mean, empty.max]).toEqual([Number.NaN, Number.NaN, 0])
})

test('a heap of lists has its least on top under any insertions, moves and removals', () => {
  const change = fc.record({ list: fc.nat(40), key: fc.nat(20), remove: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200, size: 'max' }), (changes) => {
      const heap = createHeap()
      const entries = Array.from({ length: 64 }, () => createEntry({} as WaitingList, 0, heap))
      const model = new Map<number, number>()
      for (const { list, key, remove } of changes) {
        const entry = entries[list]!
        if (remove) {
          heap.remove(entry)
          model.delete(list)
        } else {
          entry.key = key
          entry.tie = list
          heap.place(entry)
          model.set(list, key)
        }
        expect(heap.size).toBe(model.size)
        const least = [...model].sort((a, b) => a[1] - b[1] || a[0] - b[0])[0]
        if (least !== undefined) expect(heap.entries[0]).toBe(entries[least[0]])
      }
      for (const [list, entry] of entries.entries()) {
        expect(entry.at !== -1).toBe(model.has(list))
        if (entry.at !== -1) expect(heap.entries[entry.at]).toBe(entry)
      }
    }),
    { numRuns: runs(50, 10_000) },
  )
})

test('a handle is good until its request ends and never again before its generations are used up', () => {
  const table = createRequestTable({ initialRequests: 0, maxRequests: 3 })
  const seen = new Set<number>()
  for (let k = 0; k < 500; k++) {
    const slot = table.allocate()
    const handle = table.handleOf(slot)
    // A row is live once it has a state; the lifecycle gives it one.
    table.chunks[0]!.state[slot] = 1
    expect(seen.has(handle)).toBe(false)
    expect(table.slotOf(handle)).toBe(slot)
    seen.add(handle)
    table.release(slot)
    expect(table.slotOf(handle)).toBe(-1)
  }
  expect(table.live).toBe(0)
})

test('a table grows by chunks and refuses when full', () => {
  const table = createRequestTable({ initialRequests: 0, maxRequests: 20_000 })
  for (let k = 0; k < 20_000; k++) expect(table.allocate()).toBe(k)
  expect(table.chunks).toHaveLength(2)
  expect(table.allocate()).toBe(-1)
  for (const maxRequests of [0, 1.5, -1, Number.NaN, 2 ** 24 + 1])
    expect(thrownBy(() => createRequestTable({ initialRequests: 0, maxRequests })).code).toBe(
      'ERR_CORE_CAPACITY',
    )
})

test('snap takes the nearest level, ties up, never above Scap', () => {
  const ladder = createLadder({ totalSms: 142, levels: [40, 60, 80] })
  const at = (sms: number): number => ladder.sms[snapToLevel(ladder, Float64Array.of(sms))]!
  expect([0, 40, 49.9, 50, 69, 70, 80, 500].map(at)).toEqual([40, 40, 40, 60, 60, 80, 80, 80])
})

test('class tables refuse none, too many, doubled and impossible ones', () => {
  const spec = { name: 'a', path: 'short', sloMs: 1, priority: 0 } as const
  const code = (specs: readonly (typeof spec)[]): string =>
    thrownBy(() => createClassTable(specs)).code
  expect(code([])).toBe('ERR_CORE_CLASSES')
  expect(code([spec, spec])).toBe('ERR_CORE_CLASSES')
  expect(
    code(Array.from({ length: MAX_CLASSES + 1 }, (_, k) => ({ ...spec, name: `c${k}` as 'a' }))),
  ).toBe('ERR_CORE_CLASSES')
  for (const wrong of [{ sloMs: 0 }, { sloMs: Number.NaN }, { priority: Number.NaN }])
    expect(code([{ ...spec, ...(wrong as object) } as typeof spec])).toBe('ERR_CORE_CLASSES')
})

test('an error says field, what was expected, what was got and what to do', () => {
  const error = new HorizonError('ERR_CORE_INPUT', 'impossible', {
    field: 'a.b',
    expected: 'x',
    got: 'y',
    hint: 'Do z',
  })
  expect(error.message).toBe('a.b: impossible: expected x, got "y". Do z')
  expect(isHorizonError(error)).toBe(true)
  expect(isHorizonError(Object.assign(new Error('x'), { code: 'ENOENT' }))).toBe(false)
  expect(
    new HorizonError('ERR_CORE_INPUT', 'long', { got: 'x'.repeat(500) }).message.length,
  ).toBeLessThan(200)
})
