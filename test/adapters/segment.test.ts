import { chmodSync, symlinkSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeControlState } from '../../src/adapters/control-state.js'
import { segmentPath } from '../../src/adapters/discover.js'
import { BANK_BYTES, HEADER_BYTES } from '../../src/adapters/layout.js'
import { attachSegment } from '../../src/adapters/segment.js'
import { segmentBytes, segmentFile } from './shared-segment.js'
import { someState } from './some-state.js'

const code = (expected: string) => expect.objectContaining({ code: expected })

describe('attaching to a segment', () => {
  it('publishes into the bank that nobody reads, then names it', () => {
    const segment = attachSegment(segmentFile())
    const u32 = new Uint32Array(segment.buffer)
    for (let k = 1; k <= 5; k++) {
      segment.publish({ ...someState(), epoch: k })
      const published = u32[36]!
      const bank = new DataView(
        segment.buffer.slice(
          HEADER_BYTES + (published & 1) * BANK_BYTES,
          HEADER_BYTES + ((published & 1) + 1) * BANK_BYTES,
        ),
      )
      const { seq, state } = decodeControlState(bank)
      expect(seq).toBe(published)
      expect(state.epoch).toBe(k)
    }
    segment.close()
  })

  it('lets one controller in at a time, and the next after it has left', () => {
    const path = segmentFile()
    const first = attachSegment(path)
    expect(() => attachSegment(path)).toThrow(code('ERR_ADAPTERS_BUSY'))
    first.close()
    first.close()
    attachSegment(path).close()
  })

  it('refuses links, files that others may write, and files of another version', () => {
    const path = segmentFile()
    symlinkSync(path, `${path}-link`)
    expect(() => attachSegment(`${path}-link`)).toThrow(code('ERR_ADAPTERS_OWNER'))
    chmodSync(path, 0o660)
    expect(() => attachSegment(path)).toThrow(code('ERR_ADAPTERS_OWNER'))
    const other = segmentBytes()
    other[8]! ^= 1
    expect(() => attachSegment(segmentFile(other))).toThrow(code('ERR_ADAPTERS_VERSION'))
    expect(() => attachSegment('/dev/shm/horizonserve-not-there')).toThrow(
      code('ERR_ADAPTERS_SEGMENT_UNAVAILABLE'),
    )
  })

  it('refuses a file that is shorter than its header says', () => {
    expect(() => attachSegment(segmentFile(segmentBytes().subarray(0, 9000)))).toThrow(
      code('ERR_ADAPTERS_PROTOCOL'),
    )
    expect(() => attachSegment(segmentFile(new Uint8Array(10)))).toThrow(
      code('ERR_ADAPTERS_PROTOCOL'),
    )
  })

  it('takes names, not paths', () => {
    expect(segmentPath('qwen')).toBe('/dev/shm/horizonserve-qwen')
    for (const bad of ['', '../x', 'a/b', '.x', 'x'.repeat(65)])
      expect(() => segmentPath(bad)).toThrow(code('ERR_ADAPTERS_SEGMENT'))
  })
})
