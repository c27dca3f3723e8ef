/** A segment file for tests, of this language's own making: complete, with nobody in it. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from '../../src/adapters/crc32.js'
import {
  EVENT_BYTES,
  LAYOUT_HASH,
  MAGIC,
  RINGS_OFFSET,
  WIRE_VERSION,
} from '../../src/adapters/layout.js'

export function segmentBytes(numStages = 2, ringSlots = 64): Uint8Array<ArrayBuffer> {
  const total = RINGS_OFFSET + numStages * ringSlots * EVENT_BYTES
  const bytes = new Uint8Array(total)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, MAGIC, true)
  view.setUint32(8, LAYOUT_HASH, true)
  view.setUint32(12, WIRE_VERSION, true)
  view.setUint32(16, total, true)
  view.setUint32(20, numStages, true)
  view.setUint32(24, ringSlots, true)
  view.setUint32(60, crc32(bytes, 0, 0, 60), true)
  return bytes
}

export function segmentFile(bytes: Uint8Array = segmentBytes(), mode = 0o600): string {
  const path = join(mkdtempSync(join(tmpdir(), 'segment-')), 'segment')
  writeFileSync(path, bytes, { mode })
  return path
}
