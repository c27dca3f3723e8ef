import { expect, test } from 'vitest'
import { checkIntegrity } from '../../src/core/integrity.js'
import { horizonPolicy } from '../../src/policies/index.js'
import { testScheduler, thrownBy } from '../support/fixture.js'

test('a policy that sheds refuses what is lost, with the earliest time, and announces it after the decision', () => {
  const scheduler = testScheduler(horizonPolicy({ sheds: true }))
  const heard: string[] = []
  scheduler.events.on('shed', (handle, earliestMs) => {
    heard.push('shed')
    expect(scheduler.has(handle)).toBe(false)
    expect(scheduler.decision.step).toBe(0)
    expect(earliestMs).toBeGreaterThan(1000)
  })
  scheduler.events.on('end', () => heard.push('end'))
  scheduler.arrive({ class: 'text', sloMs: 1 }, 1000)
  const kept = scheduler.arrive({ class: 'text' }, 1000)
  const decision = scheduler.step(1000)
  expect(heard).toEqual(['shed', 'end'])
  expect([...decision.view]).toEqual([kept])
  expect(scheduler.metrics().classes.text).toMatchObject({ shed: 1, cancelled: 0, unfinished: 1 })
  checkIntegrity(scheduler)
})

test('only a request that waits can be shed', () => {
  const scheduler = testScheduler()
  const handle = scheduler.arrive({ class: 'speech' }, 0)
  scheduler.admit(handle)
  expect(thrownBy(() => scheduler.shed(handle)).code).toBe('ERR_CORE_TRANSITION')
  const other = scheduler.arrive({ class: 'speech' }, 0)
  expect(scheduler.shed(other)).toBeGreaterThan(0)
  checkIntegrity(scheduler)
})

test('the outlook says what an arrival would meet, and changes nothing', () => {
  const scheduler = testScheduler()
  expect(scheduler.outlook('text').status).toBe('ordinary')
  expect(scheduler.outlook('text', { sloMs: 1 })).toMatchObject({ status: 'lost', inTime: false })
  expect(scheduler.outlook('text', { sloMs: 30 }).status).toBe('protected')
  expect(thrownBy(() => scheduler.outlook('nothing' as 'text')).code).toBe('ERR_CORE_CLASS')
  expect(scheduler.size).toBe(0)
  const alone = scheduler.outlook('text').earliestMs
  for (let k = 0; k < 50; k++) scheduler.arrive({ class: 'text' }, 0)
  for (let k = 1; k <= 10; k++) {
    scheduler.step(k * 10)
    scheduler.admit(scheduler.decision.view.take())
  }
  // Requests wait and are admitted every 10 ms: the next one stands behind those that are not lost.
  expect(scheduler.outlook('text').earliestMs - 100).toBeGreaterThan(alone)
})

test('a request keeps its place until the next stage takes it', () => {
  const scheduler = testScheduler()
  const handle = scheduler.arrive({ class: 'speech' }, 0)
  const text = scheduler.arrive({ class: 'text' }, 0)
  scheduler.step(0)
  scheduler.admit(handle)
  scheduler.admit(text)
  expect(thrownBy(() => scheduler.handedOver(text)).code).toBe('ERR_CORE_TRANSITION')
  scheduler.handedOver(handle)
  scheduler.handedOver(handle)
  expect(scheduler.isScheduled(handle)).toBe(true)
  expect(scheduler.explain(handle)).toContain('holds its slot')
  expect(thrownBy(() => scheduler.preempt(handle)).code).toBe('ERR_CORE_TRANSITION')
  checkIntegrity(scheduler)
  scheduler.enterDownstream(handle)
  expect(scheduler.isScheduled(handle)).toBe(false)
  checkIntegrity(scheduler)
})

test('20,000 SLOs of single requests make no more lists than their buckets', () => {
  const scheduler = testScheduler()
  for (let k = 0; k < 20_000; k++)
    scheduler.arrive({ class: 'speech', promptTokens: 100, sloMs: 2000 + k / 10 }, 0)
  // 64 exact ones, and one octave in buckets.
  expect(scheduler.waitingSet.lists.ofClass[2]!.length).toBeLessThanOrEqual(64 + 9)
  const first = scheduler.arrive({ class: 'speech', promptTokens: 100, sloMs: 2500.5 }, 0)
  scheduler.step(0)
  scheduler.admit(first)
  // Met by its own SLO, though scheduled by an earlier one.
  expect(scheduler.firstResponse(first, 2500.25)).toBe(true)
  checkIntegrity(scheduler)
})
