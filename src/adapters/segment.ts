/**
 * @module
 * The controller's side of a segment: checked, locked, mapped once, and kept until the process ends. What the engine wrote is read
 * by copy; what the controller writes is its own line, the two banks and the lockstep answer.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { isByteLocked, tryLockByte } from '../native/byte-lock.js'
import type { Pointer } from '../native/koffi.js'
import { mapShared, viewShared } from '../native/shared-memory.js'
import { segmentError } from './adapter-error.js'
import { type ControlState, encodeControlState } from './control-state.js'
import { crc32 } from './crc32.js'
import {
  ANSWER_HEAD,
  ANSWER_OFFSET,
  ANSWER_SLOTS,
  BANK_BYTES,
  BOUNDARY_OFFSET,
  CLASSES_BYTES,
  CLASSES_HEAD,
  CLASSES_OFFSET,
  CONTROLLER_OFFSET,
  HEADER_BYTES,
  LEVEL_REFUSALS,
  LOCK,
  MODE,
  STAGE_BYTES,
  STAGE_OFFSET,
} from './layout.js'
import { decodeHeader, openSegmentFile, type SegmentHeader } from './segment-file.js'

/** What one stage process says of itself; read afresh, never interpreted further than that. */
export interface StageLine {
  readonly claimed: boolean
  readonly heartbeatNs: bigint
  readonly pid: number
  readonly dropped: number
  readonly running: number
  readonly waiting: number
  readonly tokens: number
  readonly step: number
  /** Ladder row that the stage's worker holds; -1 when it applies none. */
  readonly appliedLevel: number
  /** Why it applies none: one of `LEVEL_REFUSALS`. */
  readonly levelRefusal: string
}

/** What `repair` calls the published control state. */
export const CONTROL_STATE = 'the published control state'

/** An attached segment. Every method is one store or one copy; none of them blocks. */
export interface Segment {
  readonly path: string
  readonly header: SegmentHeader
  /** For a worker of this process: `viewSegment(path, header, address)`. */
  readonly address: Pointer
  readonly buffer: ArrayBuffer
  beat(nowNs: bigint): void
  setMode(mode: number, pid: number): void
  /** Asks the engine to tell again what it holds. */
  requestResync(): void
  publish(state: ControlState): void
  /** Replaces the class descriptions; returns the epoch that a state must name for the engine to use them. */
  writeClasses(text: string): number
  /** Answers the step that was asked with `bell`; the engine stops waiting. The caller wakes it. */
  answer(
    bell: number,
    step: number,
    level: number,
    flags: number,
    slots: Uint32Array,
    numSlots: number,
  ): void
  /** Says that a question was seen without answering it: the engine goes on with the published state, and may ask again. */
  acknowledge(bell: number): void
  stage(index: number): StageLine
  /** Whether a process has taken the stage. Cheaper than `stage`, as are the next two: they stand on the way of a lockstep answer. */
  isClaimed(index: number): boolean
  /** What the first claimed stage says of the devices that it may see; equal for engines on the same ones, `undefined` when unknown. */
  device(): number | undefined
  /** Events that the stage found no room for. */
  dropped(index: number): number
  /** Whether the stage holds requests and has beaten since `sinceNs`. */
  isActive(index: number, sinceNs: bigint): boolean
  /**
   * What of this controller's own lines, tables and descriptions somebody else overwrote, in words. Lines and descriptions are written
   * again; after `CONTROL_STATE` the caller publishes once more.
   */
  repair(): string[]
  /** Whether a stage process holds its lock, that is: lives. */
  isStageAlive(index: number): boolean
  /** Whether any stage process lives. */
  isEngineAlive(): boolean
  /** Gives the controller's lock back and says in the segment that nobody steers. The mapping stays. */
  close(): void
}

/**
 * Attaches as the one controller of an engine.
 * @throws `ERR_ADAPTERS_BUSY` when another controller holds it, `ERR_ADAPTERS_VERSION`, `ERR_ADAPTERS_PROTOCOL`, `ERR_ADAPTERS_OWNER`,
 * `ERR_ADAPTERS_SEGMENT_UNAVAILABLE`
 */
export function attachSegment(path: string): Segment {
  const fd = openSegmentFile(path)
  try {
    const bytes = Buffer.alloc(64)
    const got = readSync(fd, bytes, 0, 64, 0)
    const header = decodeHeader(bytes.subarray(0, got), fstatSync(fd).size)
    if (!tryLockByte(fd, LOCK.controller)) {
      throw segmentError('BUSY', 'another controller steers this engine', {
        got: path,
        hint: 'Stop it first; an engine follows one controller at a time',
      })
    }
    return viewSegment(path, header, mapApart(fd, header.totalBytes), fd)
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** A mapping keeps its open file alive, and with it the lock; so the lock is on an open file of its own. */
function mapApart(fd: number, bytes: number): Pointer {
  const own = openSync(`/proc/self/fd/${fd}`, constants.O_RDWR)
  try {
    return mapShared(own, bytes).address
  } finally {
    closeSync(own)
  }
}

/** A segment that this process has mapped already; `fd` is the descriptor that holds the lock, if it is here. */
export function viewSegment(
  path: string,
  header: SegmentHeader,
  address: Pointer,
  fd?: number,
): Segment {
  const { buffer } = viewShared(address, header.totalBytes)
  const view = new DataView(buffer)
  const u32 = new Uint32Array(buffer)
  const i32 = new Int32Array(buffer)
  const i64 = new BigInt64Array(buffer)
  const line = CONTROLLER_OFFSET / 4
  const scratch = new ArrayBuffer(BANK_BYTES)
  const bank = new DataView(scratch)
  const shared = new Uint8Array(buffer)
  let session = (Atomics.load(u32, line + 6) + 1) >>> 0
  if (fd !== undefined) Atomics.store(u32, line + 6, session)
  else session = Atomics.load(u32, line + 6)
  let lock = fd
  // What was written last, to be compared with what is there: nobody else may write it.
  let said: readonly [mode: number, pid: number] | undefined
  let published = 0
  let classes: Uint8Array | undefined
  return {
    path,
    header,
    address,
    buffer,
    beat: (nowNs) => void Atomics.store(i64, CONTROLLER_OFFSET / 8, nowNs),
    setMode(mode, pid) {
      said = [mode, pid]
      Atomics.store(u32, line + 2, pid)
      Atomics.store(u32, line + 3, mode)
    },
    requestResync: () => void Atomics.add(u32, line + 5, 1),
    publish(state) {
      // SYNC POINT: the bank that nobody is told of is filled first, then the count that names it is stored.
      let seq = (Atomics.load(u32, line + 4) + 1) >>> 0
      if (seq === 0) seq = 2
      encodeControlState(bank, seq, state)
      shared.set(new Uint8Array(scratch), HEADER_BYTES + (seq & 1) * BANK_BYTES)
      Atomics.store(u32, line + 4, seq)
      published = seq
    },
    writeClasses(text) {
      const bytes = new TextEncoder().encode(text)
      if (bytes.length > CLASSES_BYTES - CLASSES_HEAD) {
        throw segmentError('SEGMENT', 'the class descriptions do not fit', {
          field: 'classes',
          expected: `at most ${CLASSES_BYTES - CLASSES_HEAD} bytes of JSON`,
          got: bytes.length,
          hint: 'Use fewer points in the profiles',
        })
      }
      const epoch = (view.getUint32(CLASSES_OFFSET + 4, true) + 1) >>> 0
      view.setUint32(CLASSES_OFFSET + 4, epoch, true)
      view.setUint32(CLASSES_OFFSET + 8, bytes.length, true)
      view.setUint32(CLASSES_OFFSET + 12, 0, true)
      shared.set(bytes, CLASSES_OFFSET + CLASSES_HEAD)
      const end = CLASSES_OFFSET + CLASSES_HEAD + bytes.length
      view.setUint32(CLASSES_OFFSET, crc32(shared, 0, CLASSES_OFFSET + 4, end), true)
      classes = shared.slice(CLASSES_OFFSET, end)
      return epoch
    },
    answer(bell, step, level, flags, slots, numSlots) {
      const count = Math.min(numSlots, ANSWER_SLOTS)
      view.setUint32(ANSWER_OFFSET + 4, bell, true)
      view.setUint32(ANSWER_OFFSET + 8, step, true)
      view.setUint32(ANSWER_OFFSET + 12, count, true)
      view.setInt32(ANSWER_OFFSET + 16, level, true)
      view.setUint32(ANSWER_OFFSET + 20, flags, true)
      for (let i = 0; i < count; i++) u32[(ANSWER_OFFSET + ANSWER_HEAD) / 4 + i] = slots[i]!
      view.setUint32(
        ANSWER_OFFSET,
        crc32(shared, 0, ANSWER_OFFSET + 4, ANSWER_OFFSET + ANSWER_HEAD + 4 * count),
        true,
      )
      // SYNC POINT: the answer is complete before the word that the engine waits on says so.
      Atomics.store(u32, (BOUNDARY_OFFSET + 64) / 4, bell)
    },
    acknowledge: (bell) => void Atomics.store(u32, (BOUNDARY_OFFSET + 64) / 4, bell),
    stage(index) {
      const at = (STAGE_OFFSET + index * STAGE_BYTES) / 4
      return {
        claimed: Atomics.load(u32, at + 10) === 1,
        heartbeatNs: Atomics.load(i64, at / 2),
        pid: Atomics.load(u32, at + 2),
        dropped: Atomics.load(u32, at + 4),
        running: Atomics.load(u32, at + 5),
        waiting: Atomics.load(u32, at + 6),
        tokens: Atomics.load(u32, at + 7),
        step: Atomics.load(u32, at + 8),
        appliedLevel: Atomics.load(i32, at + 9),
        levelRefusal: LEVEL_REFUSALS[Atomics.load(u32, at + 11)] ?? 'none',
      }
    },
    isClaimed: (index) => Atomics.load(u32, (STAGE_OFFSET + index * STAGE_BYTES) / 4 + 10) === 1,
    device() {
      for (let s = 0; s < header.numStages; s++) {
        const at = (STAGE_OFFSET + s * STAGE_BYTES) / 4
        if (Atomics.load(u32, at + 10) === 1) return Atomics.load(u32, at + 12) || undefined
      }
      return undefined
    },
    dropped: (index) => Atomics.load(u32, (STAGE_OFFSET + index * STAGE_BYTES) / 4 + 4),
    isActive(index, sinceNs) {
      const at = (STAGE_OFFSET + index * STAGE_BYTES) / 4
      if (Atomics.load(u32, at + 10) !== 1) return false
      if (Atomics.load(u32, at + 5) + Atomics.load(u32, at + 6) === 0) return false
      return Atomics.load(i64, at / 2) > sinceNs
    },
    repair() {
      const damage: string[] = []
      if (said !== undefined) {
        const [mode, pid] = said
        if (Atomics.load(u32, line + 3) !== mode || Atomics.load(u32, line + 2) !== pid) {
          damage.push("the controller's line")
          Atomics.store(u32, line + 2, pid)
          Atomics.store(u32, line + 3, mode)
        }
      }
      if (classes !== undefined && !isSame(shared, CLASSES_OFFSET, classes)) {
        damage.push('the class descriptions')
        shared.set(classes, CLASSES_OFFSET)
      }
      if (published !== 0) {
        const at = HEADER_BYTES + (published & 1) * BANK_BYTES
        const isCounted = Atomics.load(u32, line + 4) === published
        if (!isCounted || !isSame(shared, at, new Uint8Array(scratch))) damage.push(CONTROL_STATE)
      }
      return damage
    },
    isStageAlive: (index) => lock !== undefined && isByteLocked(lock, LOCK.stage0 + index),
    isEngineAlive() {
      if (lock === undefined) return false
      for (let s = 0; s < header.numStages; s++)
        if (isByteLocked(lock, LOCK.stage0 + s)) return true
      return false
    },
    close() {
      if (lock === undefined) return
      Atomics.store(u32, line + 3, MODE.none)
      Atomics.store(i64, CONTROLLER_OFFSET / 8, 0n)
      closeSync(lock)
      lock = undefined
    },
  }
}

function isSame(shared: Uint8Array, at: number, bytes: Uint8Array): boolean {
  return Buffer.compare(shared.subarray(at, at + bytes.length), bytes) === 0
}
