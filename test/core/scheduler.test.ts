/** What a caller reads: metrics, events, words, integrity. */

import { expect, test } from 'vitest'
import { checkIntegrity } from '../../src/core/integrity.js'
import { PROTECTED } from '../../src/core/request-table.js'
import { horizonPolicy, literalPolicy } from '../../src/policies/index.js'
import { CLASSES, rowOf, testScheduler, thrownBy } from '../support/fixture.js'

test('metrics: attainment over completed and over arrived, latencies, counts', () => {
  const scheduler = testScheduler()
  const [met, late, gone, open] = [0, 1, 2, 3].map(() => scheduler.arrive({ class: 'text' }, 0))
  scheduler.step(1)
  for (const handle of [met, late]) scheduler.admit(handle!)
  expect(scheduler.firstResponse(met!, 100)).toBe(true)
  expect(scheduler.firstResponse(late!, 401)).toBe(false)
  scheduler.finish(met!)
  scheduler.finish(late!)
  scheduler.cancel(gone!)
  const { text, speech } = scheduler.metrics().classes
  expect(text).toMatchObject({
    arrived: 4,
    admitted: 2,
    responded: 2,
    met: 1,
    completed: 2,
    cancelled: 1,
    unfinished: 1,
    attainmentOverCompleted: 0.5,
    attainmentOverArrived: 0.25,
  })
  expect(text.firstResponseMs.max).toBe(401)
  expect(text.firstResponseMs.mean).toBe(250.5)
  expect(speech.attainmentOverCompleted).toBeNaN()
  expect(scheduler.isWaiting(open!)).toBe(true)
})

test('events: protected and lost once each, cap, first response, end; a listener that throws breaks nothing', () => {
  const scheduler = testScheduler()
  const log: string[] = []
  scheduler.events.on('protected', (h) => log.push(`protected ${scheduler.idOf(h)}`))
  scheduler.events.on('lost', (h) => log.push(`lost ${scheduler.idOf(h)}`))
  scheduler.events.on('cap', (_level, sms) => log.push(`cap ${sms}`))
  scheduler.events.on('firstResponse', (_h, ms, met) => log.push(`first ${ms} ${met}`))
  scheduler.events.on('end', (_h, finished) => log.push(`end ${finished}`))
  scheduler.events.on('decision', () => {
    throw new Error('listener')
  })
  scheduler.events.on('listenerError', (error) => log.push((error as Error).message))
  const handle = scheduler.arrive({ class: 'text', id: 'a' }, 0)
  for (const now of [0, 380, 390]) scheduler.step(now)
  scheduler.admit(handle)
  scheduler.firstResponse(handle, 410)
  scheduler.finish(handle)
  expect(log).toEqual([
    'cap 142',
    'listener',
    'protected a',
    'listener',
    'lost a',
    'listener',
    'first 410 false',
    'end true',
  ])
  checkIntegrity(scheduler)
})

test('explain says where a request is, its slack and why it is hidden or shown', () => {
  const scheduler = testScheduler()
  const text = scheduler.arrive({ class: 'text', id: 'hello', promptTokens: 100 }, 0)
  const speech = [0, 1, 2].map(() => scheduler.arrive({ class: 'speech', promptTokens: 100 }, 0))
  scheduler.step(10)
  expect(scheduler.explain(text)).toMatch(
    /^text request "hello" \(short path\), arrived 10 ms ago; deadline in 390 ms; .*so it is ordinary \(u >= uGuard = 2\); visible in this step\.$/,
  )
  expect(scheduler.explain(speech[0]!)).toMatch(
    /hidden in this step: step 0 is a short-path step \(N = 2\)/,
  )
  scheduler.step(11)
  scheduler.step(12)
  expect(scheduler.explain(speech[2]!)).toMatch(/hidden in this step: .*(cap|limit|at most)/i)
  scheduler.admit(speech[0]!)
  expect(scheduler.explain(speech[0]!)).toContain('in prefill, 0 of 100 tokens')
  scheduler.progress(speech[0]!, 100, 1)
  expect(scheduler.explain(speech[0]!)).toContain('decoding, never hidden')
  scheduler.enterDownstream(speech[0]!)
  expect(scheduler.explain(speech[0]!)).toContain('in its downstream stage')
  scheduler.firstResponse(speech[0]!, 12)
  expect(scheduler.explain(speech[0]!)).toContain('has had its first response')
  scheduler.pin(speech[1]!)
  expect(scheduler.explain(speech[1]!)).toContain('always visible')
  scheduler.step(395)
  expect(scheduler.explain(text)).toMatch(/so it is lost \(u < uLost = 1\)/)
})

test('slowdown is measured from first responses and makes requests urgent sooner', () => {
  const scheduler = testScheduler(literalPolicy(), { estimates: { slowdownGain: 1 } })
  const first = scheduler.arrive({ class: 'text' }, 0)
  scheduler.step(0)
  scheduler.admit(first)
  scheduler.firstResponse(first, 80)
  expect(scheduler.estimates.slowdown[0]).toBe(4)
  // 20 ms of work at a slowdown of 4 is 80 ms; protected below 160 ms of slack.
  scheduler.arrive({ class: 'text', sloMs: 150 }, 100)
  scheduler.arrive({ class: 'text', sloMs: 170 }, 100)
  expect(scheduler.step(100).protected).toBe(1)
})

test('the expected downstream wait counts what is in flight', () => {
  const scheduler = testScheduler(horizonPolicy(), { estimates: { downstreamConcurrency: 2 } })
  const handles = [0, 1, 2].map(() => scheduler.arrive({ class: 'picture' }, 0))
  const waits: number[] = []
  for (const handle of handles) {
    scheduler.admit(handle)
    waits.push(scheduler.estimates.waitMs[3]!)
  }
  // (n - 2 + 1) departures of two servers away, 750 ms each, rounded up to an eighth of an octave.
  expect(waits).toEqual([0, 768, 1536])
  for (const handle of handles) scheduler.cancel(handle)
  expect(scheduler.estimates.waitMs[3]).toBe(0)
})

test.each([
  ['slowdownGain', -1],
  ['slowdownGain', 2],
  ['maxSlowdown', 0.5],
  ['downstreamConcurrency', 0],
])('estimates.%s = %f is refused', (field, value) => {
  expect(thrownBy(() => testScheduler(horizonPolicy(), { estimates: { [field]: value } }))).toEqual(
    {
      code: 'ERR_CORE_ESTIMATES',
      field: `estimates.${field}`,
    },
  )
})

type Scheduler = ReturnType<typeof testScheduler>
function corruptLists(
  { waitingSet }: Scheduler,
  field: 'head' | 'tail' | 'live' | 'ordinary',
): void {
  for (const list of waitingSet.lists.byId) list[field] = -1
}

const CORRUPTIONS: readonly (readonly [
  string,
  (s: Scheduler, waiting: number, running: number, pinned: number) => void,
])[] = [
  ['a count of waiting requests', (s) => s.waitingSet.counts.fill(7)],
  ['requests in the shared stage', (s) => s.signals.inShared.fill(9)],
  ['requests in prefill', (s) => s.signals.inPrefill.fill(9)],
  ['requests downstream', (s) => s.signals.inDownstream.fill(1)],
  ['ordinary in the shared stage', (s) => s.signals.ordinaryInShared.fill(3)],
  ['ordinary in prefill', (s) => s.signals.ordinaryInPrefill.fill(3)],
  [
    'always visible',
    (s) => {
      s.signals.alwaysVisible = 5
    },
  ],
  [
    'live requests',
    (s) => {
      s.table.live += 1
    },
  ],
  [
    'the always-visible list',
    (s) => {
      s.always.head[0] = -1
    },
  ],
  [
    'a status',
    (s, h) => {
      rowOf(s, h).chunk.status[rowOf(s, h).i] = PROTECTED
    },
  ],
  [
    'a state',
    (s, _w, h) => {
      rowOf(s, h).chunk.state[rowOf(s, h).i] = 5
    },
  ],
  [
    'a link back',
    (s, h) => {
      rowOf(s, h).chunk.prev[rowOf(s, h).i] = 3
    },
  ],
  [
    'the list of a row',
    (s, h) => {
      rowOf(s, h).chunk.list[rowOf(s, h).i] = 63
    },
  ],
  ['a tail', (s) => corruptLists(s, 'tail')],
  ['a head', (s) => corruptLists(s, 'head')],
  ['a cursor of ordinary ones', (s) => corruptLists(s, 'ordinary')],
  ['a cursor of live ones', (s) => corruptLists(s, 'live')],
  [
    'the back link of a pinned one',
    (s, _w, _r, h) => {
      rowOf(s, h).chunk.prev[rowOf(s, h).i] = 2
    },
  ],
]

test.each(CORRUPTIONS)('the integrity check finds corruption of %s', (_name, corrupt) => {
  const scheduler = testScheduler()
  const [waiting, running, pinned] = CLASSES.slice(0, 3).map(({ name }) =>
    scheduler.arrive({ class: name }, 0),
  )
  scheduler.arrive({ class: 'text', sloMs: 39 }, 0)
  scheduler.step(0)
  scheduler.admit(running!)
  scheduler.pin(pinned!)
  checkIntegrity(scheduler)
  corrupt(scheduler, waiting!, running!, pinned!)
  expect(thrownBy(() => checkIntegrity(scheduler)).code).toBe('ERR_CORE_INTEGRITY')
})
