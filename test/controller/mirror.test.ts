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
