import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEvent, encodeEvent } from '../../src/adapters/events.js'
import {
  EVENT_BYTES,
  KIND,
  RINGS_OFFSET,
  STAGE_BYTES,
  STAGE_OFFSET,
} from '../../src/adapters/layout.js'
import { createRingReader } from '../../src/adapters/ring.js'
import { runs } from '../support/runs.js'
import { segmentBytes } from './shared-segment.js'

const SLOTS = 8

/** The engine's end, as Python's `Segment.post` does it. */
function writer(buffer: ArrayBuffer, stage: number) {
  const u32 = new Uint32Array(buffer)
  const view = new DataView(buffer)
  const event = createEvent()
  const at = (STAGE_OFFSET + stage * STAGE_BYTES) / 4
  let written = 0
  return (a: number): boolean => {
    if ((written - u32[40 + stage]!) >>> 0 >= SLOTS) return false
    Object.assign(event, { seq: written, kind: KIND.step, stage, a })
    encodeEvent(
      view,
      RINGS_OFFSET + stage * SLOTS * EVENT_BYTES + (written % SLOTS) * EVENT_BYTES,
      event,
    )
    written += 1
    u32[at + 3] = written
    return true
  }
}

describe('a ring of events', () => {
  it('gives every event that fitted once and in order, whatever the turns', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(12), fc.nat(12)), { maxLength: 40 }), (turns) => {
        const { buffer } = segmentBytes(2, SLOTS)
        const post = writer(buffer, 1)
        const reader = createRingReader(buffer, 1, SLOTS, createEvent(), true)
        const event = createEvent()
        const sent: number[] = []
        const got: number[] = []
        let next = 0
        const mine = createRingReader(buffer, 1, SLOTS, event, false)
        expect(reader.counts.read).toBe(0)
        for (const [posts, reads] of turns) {
          for (let k = 0; k < posts; k++) if (post(next)) sent.push(next++)
          mine.poll((e) => got.push(e.a), reads)
        }
        mine.poll((e) => got.push(e.a))
        expect(got).toEqual(sent)
        expect(mine.counts).toEqual({ read: sent.length, corrupt: 0, jumps: 0 })
      }),
      { numRuns: runs(100, 5000) },
    )
  })

  it('waits a little for a record that is announced and not yet there, then goes on without it', () => {
    const { buffer } = segmentBytes(1, SLOTS)
    const post = writer(buffer, 0)
    const reader = createRingReader(buffer, 0, SLOTS, createEvent(), true)
    const got: number[] = []
    for (let k = 0; k < 3; k++) post(k)
    new Uint8Array(buffer)[RINGS_OFFSET + EVENT_BYTES + 33]! ^= 1
    for (let k = 0; k < 6; k++) reader.poll((e) => got.push(e.a))
    expect(got).toEqual([0, 2])
    expect(reader.counts.corrupt).toBe(1)
  })

  it('starts anew from a cursor that cannot be', () => {
    const { buffer } = segmentBytes(1, SLOTS)
    const reader = createRingReader(buffer, 0, SLOTS, createEvent(), true)
    new Uint32Array(buffer)[STAGE_OFFSET / 4 + 3] = 0xdeadbeef
    expect(reader.poll(() => expect.unreachable())).toBe(0)
    expect(reader.counts.jumps).toBe(1)
  })
})
