/**
 * @module
 * A segment looked at from outside: nothing is mapped, locked or written, so it may be done beside an engine and its controller.
 */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { isByteLocked } from '../native/byte-lock.js'
import { segmentPath } from './discover.js'
import {
  CONTROLLER_OFFSET,
  CONTROLLER_STALE_MS,
  LOCK,
  MODE,
  STAGE_BYTES,
  STAGE_OFFSET,
  STALE_MS,
} from './layout.js'
import { decodeHeader, openSegmentFile } from './segment-file.js'

/** What stands in a segment at one moment. */
export interface SegmentLook {
  readonly name: string
  /** The process that steers it, if one holds the place of the controller and beats. */
  readonly controller: { readonly pid: number; readonly mode: string } | undefined
  /** Whether a controller holds its place, beating or not. */
  readonly isHeld: boolean
  readonly stages: readonly StageLook[]
}

/** One stage that a process has taken. */
export interface StageLook {
  readonly stage: number
  readonly pid: number
  /** Its process lives, by its lock; and it beats. */
  readonly isAlive: boolean
  readonly isBeating: boolean
  readonly running: number
  readonly waiting: number
  readonly steps: number
}

const MODE_NAMES = new Map(Object.entries(MODE).map(([name, code]) => [code, name]))

/**
 * Looks at the segment of this name.
 * @throws `ERR_ADAPTERS_SEGMENT_UNAVAILABLE`, `ERR_ADAPTERS_OWNER`, `ERR_ADAPTERS_VERSION`, `ERR_ADAPTERS_PROTOCOL`
 */
export function inspectSegment(name: string, nowNs: bigint): SegmentLook {
  const fd = openSegmentFile(segmentPath(name))
  try {
    const bytes = Buffer.alloc(4096)
    const got = readSync(fd, bytes, 0, bytes.length, 0)
    const { numStages } = decodeHeader(bytes.subarray(0, Math.min(got, 64)), fstatSync(fd).size)
    const isFresh = (at: number, limitMs: number): boolean => {
      const age = nowNs - bytes.readBigInt64LE(at)
      return age > -BigInt(limitMs) * 1_000_000n && age < BigInt(limitMs) * 1_000_000n
    }
    const stages: StageLook[] = []
    for (let stage = 0; stage < numStages; stage++) {
      const at = STAGE_OFFSET + stage * STAGE_BYTES
      if (bytes.readUInt32LE(at + 40) !== 1) continue
      stages.push({
        stage,
        pid: bytes.readUInt32LE(at + 8),
        isAlive: isByteLocked(fd, LOCK.stage0 + stage),
        isBeating: isFresh(at, STALE_MS),
        running: bytes.readUInt32LE(at + 20),
        waiting: bytes.readUInt32LE(at + 24),
        steps: bytes.readUInt32LE(at + 32),
      })
    }
    const isHeld = isByteLocked(fd, LOCK.controller)
    const mode = MODE_NAMES.get(bytes.readUInt32LE(CONTROLLER_OFFSET + 12) as never) ?? 'none'
    const steers = isHeld && mode !== 'none' && isFresh(CONTROLLER_OFFSET, CONTROLLER_STALE_MS)
    return {
      name,
      controller: steers ? { pid: bytes.readUInt32LE(CONTROLLER_OFFSET + 8), mode } : undefined,
      isHeld,
      stages,
    }
  } finally {
    closeSync(fd)
  }
}
