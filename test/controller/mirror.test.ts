import { describe, expect, it } from 'vitest'
import { ARRIVAL, createEvent, type EngineEvent } from '../../src/adapters/events.js'
import { KIND, MAX_KIND } from '../../src/adapters/layout.js'
import { buildControl } from '../../src/controller/control-setup.js'
import { createMirror } from '../../src/controller/mirror.js'
import { checkIntegrity } from '../../src/core/integrity.js'
import { runs } from '../support/runs.js'
import { someConfig } from './some-config.js'

const TEXT = 0
const SPEECH = 1

function mirrored(lastStage = 0) {
  const { scheduler } = buildControl(someConfig())
  const answered: [number, number, boolean][] = []
  const mirror = createMirror(
    scheduler,
    (c, ms, met) => answered.push([c, ms, met]),
    () => lastStage,
  )
  const tell = (kind: number, fields: Partial<EngineEvent>): void => {
    mirror.apply({ ...createEvent(), kind, timeNs: 1_000_000_000n, ...fields })
  }
  return { scheduler, mirror, answered, tell }
}

describe('the mirror of an engine', () => {
  it('follows a request from arrival to its end', () => {
    const { scheduler, mirror, answered, tell } = mirrored()
    tell(KIND.arrive, { a: 1, b: 40, classIndex: TEXT })
    expect(scheduler.size).toBe(1)
    tell(KIND.admit, { a: 1 })
    tell(KIND.firstResponse, { a: 1, b: 1, timeNs: 1_050_000_000n })
    tell(KIND.finish, { a: 1, b: 9 })
    expect(scheduler.size).toBe(0)
    expect(answered).toEqual([[TEXT, 50, true]])
    expect(mirror.counts).toMatchObject({ misfits: 0, arrived: 1, finished: 1 })
  })

  it('waits for the last stage with the first response of a long-path request', () => {
    const { scheduler, answered, tell } = mirrored(2)
    tell(KIND.arrive, { a: 1, b: 40, classIndex: SPEECH, idLow: 99n })
    tell(KIND.admit, { a: 1, idLow: 99n })
    tell(KIND.firstResponse, { a: 1, b: 1, idLow: 99n })
    tell(KIND.finish, { a: 1, b: 9, idLow: 99n })
    expect(answered).toEqual([])
    expect(scheduler.signals.inDownstream[SPEECH]).toBe(1)
    // The slot is free for another request while the first one is still downstream.
    tell(KIND.arrive, { a: 1, b: 4, classIndex: TEXT })
    // The stage between has answered, the user has not heard anything yet.
    tell(KIND.firstResponse, { stage: 1, idLow: 99n, timeNs: 1_200_000_000n })
    tell(KIND.finish, { stage: 1, idLow: 99n, b: 1 })
    tell(KIND.firstResponse, { stage: 2, idLow: 99n, timeNs: 1_400_000_000n })
    tell(KIND.finish, { stage: 2, idLow: 99n, b: 1 })
    expect(answered).toEqual([[SPEECH, 400, true]])
    expect(scheduler.size).toBe(1)
  })

  it('forgets what a resync does not name', () => {
    const { scheduler, tell } = mirrored()
    tell(KIND.arrive, { a: 1, classIndex: TEXT })
    tell(KIND.arrive, { a: 2, classIndex: TEXT })
    tell(KIND.syncBegin, {})
    tell(KIND.arrive, { a: 2, classIndex: TEXT, f: ARRIVAL.resync })
    tell(KIND.arrive, { a: 3, classIndex: SPEECH, f: ARRIVAL.resync | ARRIVAL.running })
    tell(KIND.syncEnd, {})
    expect(scheduler.size).toBe(2)
    expect(scheduler.signals.inShared[SPEECH]).toBe(1)
  })

  describe('with one external id on two requests', () => {
    const same = { idLow: 99n, classIndex: SPEECH }

    it('ends both, and answers both', () => {
      const { scheduler, mirror, answered, tell } = mirrored(2)
      for (const a of [1, 2]) {
        tell(KIND.arrive, { a, ...same })
        tell(KIND.admit, { a, ...same })
        tell(KIND.firstResponse, { a, b: 1, ...same })
        tell(KIND.finish, { a, b: 9, ...same })
      }
      expect(scheduler.signals.inDownstream[SPEECH]).toBe(2)
      for (const timeNs of [1_300_000_000n, 1_500_000_000n]) {
        tell(KIND.firstResponse, { stage: 2, idLow: 99n, timeNs })
        tell(KIND.finish, { stage: 2, idLow: 99n, timeNs })
      }
      expect(answered).toEqual([
        [SPEECH, 300, true],
        [SPEECH, 500, true],
      ])
      expect(scheduler.signals.inDownstream[SPEECH]).toBe(0)
      expect(mirror.size).toBe(0)
      expect(mirror.counts).toMatchObject({ arrived: 2, finished: 2, aborted: 0, misfits: 0 })
    })

    it('answers both before the first ends', () => {
      const { mirror, answered, tell } = mirrored(2)
      for (const a of [1, 2]) {
        tell(KIND.arrive, { a, ...same })
        tell(KIND.admit, { a, ...same })
        tell(KIND.finish, { a, ...same })
      }
      for (const kind of [KIND.firstResponse, KIND.firstResponse, KIND.finish, KIND.finish])
        tell(kind, { stage: 2, idLow: 99n })
      expect(answered.length).toBe(2)
      expect(mirror.size).toBe(0)
    })

    it('lets the second end when the first was aborted', () => {
      const { scheduler, mirror, tell } = mirrored(2)
      for (const a of [5, 6]) tell(KIND.arrive, { a, ...same })
      tell(KIND.abort, { a: 5, ...same })
      tell(KIND.admit, { a: 6, ...same })
      tell(KIND.finish, { a: 6, ...same })
      tell(KIND.finish, { stage: 2, idLow: 99n })
      expect(scheduler.size).toBe(0)
      expect(mirror.counts).toMatchObject({ arrived: 2, finished: 1, aborted: 1 })
    })
  })

  it('keeps nothing downstream for ever: unheard for two minutes, or for five seconds while later stages idle', () => {
    for (const [isIdle, afterMs] of [
      [false, 120_000],
      [true, 5_000],
    ] as const) {
      const { scheduler, mirror, tell } = mirrored(2)
      tell(KIND.arrive, { a: 1, idLow: 4n, classIndex: SPEECH })
      tell(KIND.admit, { a: 1 })
      tell(KIND.finish, { a: 1 })
      mirror.expire(1000 + afterMs - 1, isIdle)
      expect(scheduler.signals.inDownstream[SPEECH]).toBe(1)
      mirror.expire(1000 + afterMs + 1001, isIdle)
      expect(scheduler.signals.inDownstream[SPEECH]).toBe(0)
      expect(mirror.counts).toMatchObject({ arrived: 1, aborted: 1, forgotten: 1 })
    }
  })

  it('gives a slot that was reused while nobody listened to its new request', () => {
    const { scheduler, mirror, tell } = mirrored()
    tell(KIND.arrive, { a: 1, idLow: 1n, classIndex: TEXT })
    tell(KIND.syncBegin, {})
    tell(KIND.arrive, {
      a: 1,
      idLow: 2n,
      classIndex: SPEECH,
      f: ARRIVAL.resync,
      timeNs: 2_000_000_000n,
    })
    tell(KIND.syncEnd, {})
    expect(scheduler.size).toBe(1)
    expect(
      scheduler.signals.waiting[SPEECH * 3]! + scheduler.signals.waiting[SPEECH * 3 + 1]!,
    ).toBe(1)
    expect(mirror.counts).toMatchObject({ arrived: 2, aborted: 1, forgotten: 1 })
  })

  it('forgets what the last stage does not name any more', () => {
    const { scheduler, tell } = mirrored(2)
    for (const a of [1, 2]) {
      tell(KIND.arrive, { a, idLow: BigInt(a), classIndex: SPEECH })
      tell(KIND.admit, { a })
      tell(KIND.finish, { a })
      tell(KIND.firstResponse, { stage: 2, idLow: BigInt(a) })
    }
    tell(KIND.syncBegin, { stage: 2 })
    tell(KIND.arrive, { stage: 2, idLow: 2n, f: ARRIVAL.resync })
    tell(KIND.syncEnd, { stage: 2 })
    expect(scheduler.signals.inDownstream[SPEECH]).toBe(1)
  })

  it('accounts for every request, whatever the order of aborts', () => {
    let x = 99
    const random = (below: number): number => {
      x = (Math.imul(x, 1103515245) + 12345) >>> 0
      return (x >>> 8) % below
    }
    const { scheduler, mirror, tell } = mirrored(2)
    let timeNs = 1_000_000_000n
    for (let i = 0; i < runs(1_000, 10_000); i++) {
      timeNs += 1_000_000n
      // Few ids, so that several requests in flight often share one.
      const about = { a: 1 + (i % 500), idLow: BigInt(random(8)), classIndex: random(2), timeNs }
      const isLong = about.classIndex === SPEECH
      const abortAt = random(6)
      const stages: (() => void)[] = [
        () => tell(KIND.admit, about),
        () => tell(KIND.firstResponse, { ...about, b: 1 }),
        () => tell(KIND.finish, about),
        () => isLong && tell(KIND.firstResponse, { stage: 2, idLow: about.idLow, timeNs }),
        () => isLong && tell(KIND.finish, { stage: 2, idLow: about.idLow, timeNs }),
      ]
      tell(KIND.arrive, about)
      for (const [at, next] of stages.entries()) {
        if (at === abortAt) {
          if (at < 3) tell(KIND.abort, about)
          // Between the stages nobody names it; later the last one does.
          else if (isLong && at === 4) tell(KIND.abort, { stage: 2, idLow: about.idLow, timeNs })
          break
        }
        next()
      }
      const { arrived, finished, aborted } = mirror.counts
      expect(arrived).toBe(finished + aborted + mirror.size)
    }
    mirror.expire(Number(timeNs) / 1e6 + 10_000, true)
    expect(mirror.size).toBe(0)
    expect(scheduler.size).toBe(0)
    expect(scheduler.signals.inDownstream[SPEECH]).toBe(0)
    checkIntegrity(scheduler)
    expect(mirror.counts.misfits).toBe(0)
  })

  it('takes any sequence of events without breaking the core', () => {
    const { scheduler, mirror, tell } = mirrored()
    let x = 12345
    const random = (below: number): number => {
      x = (Math.imul(x, 1103515245) + 12345) >>> 0
      return (x >>> 8) % below
    }
    for (let i = 0; i < runs(20_000, 500_000); i++) {
      tell(1 + random(MAX_KIND), {
        stage: random(2),
        classIndex: random(3),
        timeNs: BigInt(random(2 ** 31)) * 1000n,
        idLow: BigInt(random(40)),
        a: random(50),
        b: random(3) === 0 ? 0xffffffff : random(100),
        c: random(5000),
        d: random(2 ** 20),
        e: random(5) === 0 ? random(1000) : 0,
        f: random(16),
      })
      if (i % 500 === 0) scheduler.step(mirror.advance(0) + 1)
    }
    checkIntegrity(scheduler)
    expect(mirror.counts.arrived).toBeGreaterThan(100)
  })
})
