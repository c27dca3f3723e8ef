import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type ControlState,
  decodeControlState,
  encodeControlState,
} from '../../src/adapters/control-state.js'
import { crc32 } from '../../src/adapters/crc32.js'
import {
  createEvent,
  decodeEvent,
  type EngineEvent,
  encodeEvent,
} from '../../src/adapters/events.js'
import {
  BANK_BYTES,
  EVENT_BYTES,
  LAYOUT_HASH,
  LAYOUT_TEXT,
  MAGIC,
  RINGS_OFFSET,
} from '../../src/adapters/layout.js'
import { requestHash } from '../../src/adapters/request-hash.js'
import { decodeHeader } from '../../src/adapters/segment-file.js'

const folder = 'test/golden/wire'
const values = JSON.parse(readFileSync(join(folder, 'values.json'), 'utf8'))
const BIG = ['publishedNs', 'timeNs', 'idHigh', 'idLow']
const hasPython = spawnSync('python3', ['--version']).status === 0

/** Numbers as they are; 64-bit ones stand in the file as text. */
function plain(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, x]) => [name, BIG.includes(name) ? BigInt(x as string) : x]),
  )
}

function byTypeScript(): Uint8Array {
  const bytes = new Uint8Array(64 + BANK_BYTES + EVENT_BYTES)
  const view = new DataView(bytes.buffer)
  const { header } = values
  view.setBigUint64(0, MAGIC, true)
  view.setUint32(8, LAYOUT_HASH, true)
  view.setUint32(12, 1, true)
  view.setUint32(16, RINGS_OFFSET + header.numStages * header.ringSlots * EVENT_BYTES, true)
  view.setUint32(20, header.numStages, true)
  view.setUint32(24, header.ringSlots, true)
  view.setUint32(28, header.pid, true)
  view.setBigUint64(32, BigInt(header.instance), true)
  view.setBigInt64(40, BigInt(header.createdNs), true)
  view.setUint32(60, crc32(bytes, 0, 0, 60), true)
  encodeControlState(
    new DataView(bytes.buffer, 64, BANK_BYTES),
    values.seq,
    plain(values.state) as unknown as ControlState,
  )
  encodeEvent(view, 64 + BANK_BYTES, plain(values.event) as unknown as EngineEvent)
  return bytes
}

function python(
  verb: string,
  file: string,
): { layout: string; hash: number; high: string; low: string } {
  const { status, stdout, stderr } = spawnSync(
    'python3',
    ['test/adapters/wire_golden.py', verb, file],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

if (process.env.UPDATE_GOLDEN !== undefined) {
  python('write', join(folder, 'by-python.bin'))
  writeFileSync(join(folder, 'by-typescript.bin'), byTypeScript())
}

describe('golden bytes of the wire', () => {
  it('reads what Python wrote', () => {
    const bytes = Uint8Array.from(readFileSync(join(folder, 'by-python.bin')))
    const header = decodeHeader(bytes.subarray(0, 64), 2 ** 40)
    expect(header).toMatchObject({
      numStages: 8,
      ringSlots: 256,
      creatorPid: 4242,
      instance: 0xfedcba9876543210n,
    })
    const { seq, state } = decodeControlState(new DataView(bytes.buffer, 64, BANK_BYTES))
    expect(seq).toBe(values.seq)
    expect(state).toEqual(plain(values.state))
    const event = createEvent()
    decodeEvent(new DataView(bytes.buffer), 64 + BANK_BYTES, event)
    expect(event).toEqual(plain(values.event))
  })

  it('writes the bytes that Python reads', () => {
    expect(Buffer.from(byTypeScript())).toEqual(readFileSync(join(folder, 'by-typescript.bin')))
    expect(readFileSync(join(folder, 'by-typescript.bin'))).toEqual(
      readFileSync(join(folder, 'by-python.bin')),
    )
  })

  it.skipIf(!hasPython)('is read and written alike by the Python side as it is', () => {
    const said = python('check', join(folder, 'by-typescript.bin'))
    expect(said.layout).toBe(LAYOUT_TEXT)
    expect(said.hash).toBe(LAYOUT_HASH)
    const { high, low } = requestHash(values.hash.id)
    expect([said.high, said.low]).toEqual([`0x${high.toString(16)}`, `0x${low.toString(16)}`])
    const fresh = join(mkdtempSync(join(tmpdir(), 'wire-')), 'fresh.bin')
    python('write', fresh)
    expect(readFileSync(fresh)).toEqual(readFileSync(join(folder, 'by-python.bin')))
  })
})
