/**
 * @module
 * The file behind a segment: opened only when it is safely ours, believed only when its header is right.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { protocolError, segmentError } from './adapter-error.js'
import { crc32 } from './crc32.js'
import {
  EVENT_BYTES,
  LAYOUT_HASH,
  MAGIC,
  MAX_STAGES,
  RINGS_OFFSET,
  WIRE_VERSION,
} from './layout.js'

/** What a header says, once it is believed. */
export interface SegmentHeader {
  readonly numStages: number
  readonly ringSlots: number
  readonly totalBytes: number
  readonly creatorPid: number
  readonly instance: bigint
}

const NO_WRITER_BUT_OWNER = 0o077

/** A descriptor of a segment: a plain file of this user with mode 0600; links are not followed. */
export function openSegmentFile(path: string): number {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ELOOP') {
      throw segmentError('OWNER', 'the segment is a link, and links are not followed', {
        got: path,
      })
    }
    throw segmentError('SEGMENT_UNAVAILABLE', 'no segment to attach to', {
      expected: `a file at ${path}`,
      got: code,
      hint: 'Start the engine with the horizonserve scheduler, or wait for it with --wait',
      cause,
    })
  }
  const info = fstatSync(fd)
  const uid = process.geteuid?.() ?? info.uid
  if (!info.isFile() || info.uid !== uid || (info.mode & NO_WRITER_BUT_OWNER) !== 0) {
    closeSync(fd)
    throw segmentError('OWNER', 'the segment is not safely ours', {
      expected: `a file of user ${uid} with mode 0600`,
      got: `user ${info.uid}, mode ${(info.mode & 0o7777).toString(8)}`,
    })
  }
  return fd
}

/** Reads the first 64 bytes of a segment whose file has `size` bytes. */
export function decodeHeader(bytes: Uint8Array, size: number): SegmentHeader {
  if (bytes.length < 64)
    throw protocolError('the file is shorter than a header', { expected: '64 bytes', got: size })
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getBigUint64(0, true) !== MAGIC)
    throw protocolError('not a segment of ours: its magic is wrong')
  const version = view.getUint32(12, true)
  const hash = view.getUint32(8, true)
  if (version !== WIRE_VERSION || hash !== LAYOUT_HASH) {
    throw segmentError('VERSION', 'the engine speaks another version', {
      expected: `${WIRE_VERSION} with layout ${LAYOUT_HASH.toString(16)}`,
      got: `${version} with layout ${hash.toString(16)}`,
      hint: 'Install the Python package that ships with this controller: pip install <package>/python',
    })
  }
  if (view.getUint32(60, true) !== crc32(bytes, 0, 0, 60))
    throw protocolError('the checksum of the header is wrong')
  const totalBytes = view.getUint32(16, true)
  const numStages = view.getUint32(20, true)
  const ringSlots = view.getUint32(24, true)
  if (
    numStages < 1 ||
    numStages > MAX_STAGES ||
    ringSlots < 1 ||
    ringSlots > 1 << 20 ||
    (ringSlots & (ringSlots - 1)) !== 0
  ) {
    throw protocolError('impossible sizes', { got: `${numStages} stages, ${ringSlots} slots` })
  }
  if (totalBytes !== RINGS_OFFSET + numStages * ringSlots * EVENT_BYTES || totalBytes > size) {
    throw protocolError('the header and the file disagree on the size', {
      expected: String(totalBytes),
      got: size,
    })
  }
  return {
    numStages,
    ringSlots,
    totalBytes,
    creatorPid: view.getUint32(28, true),
    instance: view.getBigUint64(32, true),
  }
}
