import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeControlState } from '../../src/adapters/control-state.js'
import { crc32 } from '../../src/adapters/crc32.js'
import { createEvent, decodeEvent, encodeEvent } from '../../src/adapters/events.js'
import {
  BANK_BYTES,
  BANK_SCALARS,
  CLASS_ROW_BYTES,
  EVENT_BYTES,
  MAX_KIND,
  MAX_STAGES,
  MAX_WIRE_CLASSES,
  RINGS_OFFSET,
  STAGE_OFFSET,
} from '../../src/adapters/layout.js'
import { createRingReader } from '../../src/adapters/ring.js'
import { decodeHeader } from '../../src/adapters/segment-file.js'
import { isHorizonError } from '../../src/core/index.js'
import { runs } from '../support/runs.js'
import { segmentBytes } from './shared-segment.js'

const golden = Uint8Array.from(readFileSync('test/golden/wire/by-python.bin'))
const hasPython = spawnSync('python3', ['--version']).status === 0
const PROTOCOL = ['ERR_ADAPTERS_PROTOCOL', 'ERR_ADAPTERS_VERSION']

/** Small, quick and the same everywhere (xorshift32). */
function generator(seed: number): (below: number) => number {
  let x = seed | 1
  return (below) => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) % below
  }
}

/** Changes a few bytes of `from` into `to`; one time in five all of them. */
function mutate(random: (below: number) => number, from: Uint8Array, to: Uint8Array): void {
  to.set(from)
  const isRandom = random(5) === 0
  const count = isRandom ? to.length : 1 << random(4)
  for (let k = 0; k < count; k++) {
    const at = isRandom ? k : random(to.length)
    const choice = random(4)
    to[at] =
      choice === 0
        ? 0
        : choice === 1
          ? 255
          : choice === 2
            ? to[at]! ^ (1 << random(8))
            : random(256)
  }
}

/** Runs a reader; anything but the protocol error is a failure. True when the bytes were accepted. */
function accepts(read: () => void): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (isHorizonError(error) && PROTOCOL.includes(error.code)) return false
    throw error
  }
}

// The long run takes ten million inputs a reader.
describe('readers of what another process wrote', { timeout: 3_600_000 }, () => {
  it('let nothing but the protocol error escape', () => {
    const random = generator(20_260_930)
    const header = golden.subarray(0, 64)
    const bank = golden.subarray(64, 64 + BANK_BYTES)
    const event = golden.subarray(64 + BANK_BYTES)
    const h = new Uint8Array(64)
    const b = new Uint8Array(BANK_BYTES)
    const bView = new DataView(b.buffer)
    const e = new Uint8Array(EVENT_BYTES)
    const eView = new DataView(e.buffer)
    const out = createEvent()
    let accepted = 0
    const total = runs(60_000, 10_000_000)
    for (let i = 0; i < total; i++) {
      const kind = i % 8
      if (kind === 0) {
        mutate(random, header, h)
        if (random(5) > 0) {
          h.set(header.subarray(0, 16))
          new DataView(h.buffer).setUint32(60, crc32(h, 0, 0, 60), true)
        }
        accepted += Number(accepts(() => void decodeHeader(h, 2 ** (6 + random(40)))))
      } else if (kind === 1) {
        mutate(random, bank, b)
        if (random(10) > 0) {
          const rows = Math.min(bView.getUint32(16, true), MAX_WIRE_CLASSES)
          bView.setUint32(0, crc32(b, 0, 4, BANK_SCALARS + rows * CLASS_ROW_BYTES), true)
        }
        accepted += Number(accepts(() => void decodeControlState(bView)))
      } else {
        mutate(random, event, e)
        if (random(10) > 0) eView.setUint32(60, crc32(e, 0, 0, 60), true)
        accepted += Number(accepts(() => decodeEvent(eView, 0, out)))
      }
    }
    expect(accepted).toBeGreaterThan(total / 20)
  })

  it('end every poll of a ring that holds anything at all', () => {
    const random = generator(7)
    const slots = 16
    const bytes = segmentBytes(1, slots)
    const view = new DataView(bytes.buffer)
    const reader = createRingReader(bytes.buffer, 0, slots, createEvent(), true)
    const event = createEvent()
    for (let i = 0; i < runs(3000, 300_000); i++) {
      if (random(3) === 0) {
        Object.assign(event, {
          seq: random(64),
          kind: 1 + random(MAX_KIND),
          stage: random(MAX_STAGES),
        })
        encodeEvent(view, RINGS_OFFSET + random(slots) * EVENT_BYTES, event)
      } else {
        bytes[RINGS_OFFSET + random(slots * EVENT_BYTES)] = random(256)
      }
      view.setUint32(STAGE_OFFSET + 12, random(2) === 0 ? random(200) : random(0xffffffff), true)
      expect(reader.poll(() => {})).toBeLessThanOrEqual(slots)
    }
  })

  it.skipIf(!hasPython)('let nothing but the protocol error escape in Python either', () => {
    const { status, stdout, stderr } = spawnSync(
      'python3',
      ['test/adapters/wire_fuzz.py', String(runs(20_000, 10_000_000)), '11'],
      { encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const said = JSON.parse(stdout)
    expect(said.accepted).toBeGreaterThan(said.runs / 20)
  })
})
