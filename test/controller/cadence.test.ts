import { expect, test } from 'vitest'
import { createCadence } from '../../src/controller/cadence.js'

/** Asks at the times given, ns; returns how often the question came while it was expected. */
function expectedOf(times: readonly number[]): number {
  const cadence = createCadence()
  let expected = 0
  for (const time of times) {
    if (cadence.isDue(time)) expected += 1
    cadence.asked(time)
  }
  return expected
}

const MS = 1e6

test('an engine with a pace is expected, a little before and a little after', () => {
  const cadence = createCadence()
  for (let k = 1; k <= 40; k++) cadence.asked(k * 10 * MS)
  expect(cadence.fromNs).toBeGreaterThan(409 * MS)
  expect(cadence.fromNs).toBeLessThan(410 * MS)
  expect([406, 410, 414].map((ms) => cadence.isDue(ms * MS))).toEqual([false, true, false])
})

test('steps that vary by a hundredth are met, and so is a new pace after some steps', () => {
  const times = [MS]
  for (let k = 0; k < 400; k++)
    times.push(times[k]! + (k < 200 ? 10 : 25) * MS * (1 + 0.01 * Math.sin(k)))
  expect(expectedOf(times)).toBeGreaterThan(330)
})

test('questions that follow each other at once are waited for without a pause', () => {
  expect(expectedOf(Array.from({ length: 100 }, (_, k) => MS + k * 20_000))).toBeGreaterThan(95)
})

test('an engine without a pace is not waited for: at most a fifth of the time is spent looking', () => {
  let seed = 7
  const random = (): number => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed / 2 ** 31
  }
  const cadence = createCadence()
  let now = MS
  let looked = 0
  let all = 0
  for (let k = 0; k < 2000; k++) {
    cadence.asked(now)
    const took = MS * (1 + 60 * random() ** 3)
    for (let at = now; at < now + took; at += 50_000) {
      all += 1
      if (cadence.isDue(at)) looked += 1
    }
    now += took
  }
  expect(looked / all).toBeLessThan(0.2)
})

test('nothing is expected before two questions', () => {
  const cadence = createCadence()
  expect([cadence.fromNs, cadence.isDue(0), cadence.isDue(MS)]).toEqual([0, false, false])
  cadence.asked(MS)
  expect([cadence.fromNs, cadence.isDue(2 * MS)]).toEqual([0, false])
})
