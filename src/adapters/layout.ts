/**
 * @module
 * Every offset, size and code of the segment that an engine shares with its controller. This file and `python/horizonserve/wire.py`
 * own the two copies; both build the text of `LAYOUT_TEXT` from their own tables, and its checksum stands in every segment, so
 * that two versions that disagree on a single offset refuse each other instead of misreading.
 *
 *     0       header: written once by the creator, with its own checksum
 *     128     controller line: heartbeat, process, mode, table published last
 *     256     boundary line: the engine's question in lockstep, and the word the answer is waited on
 *     512     one line per stage process: heartbeat, process, counts, ring cursor
 *     4096    two banks of published control state
 *     8192    the answer of a lockstep step
 *     16384   descriptions of the classes, as JSON: names, modalities, profiles
 *     49152   one ring of events per stage
 *
 * All numbers are little-endian. Times are nanoseconds of CLOCK_MONOTONIC, spans are milliseconds as doubles.
 */
import { crc32 } from './crc32.js'

export type FieldType = 'u8' | 'u16' | 'u32' | 'i32' | 'i64' | 'u64' | 'f64'
/** Name, type, offset from the start of the record. */
export type Field = readonly [name: string, type: FieldType, offset: number]

/** `HRZNSRV` and the generation of the format. */
export const MAGIC = 0x01_56_52_53_4e_5a_52_48n
export const WIRE_VERSION = 1

export const MAX_STAGES = 8
export const MAX_WIRE_CLASSES = 16
export const HEADER_BYTES = 4096
export const BANK_BYTES = 1024
export const ANSWER_OFFSET = 8192
/** Most slots one lockstep answer can name; an engine admits fewer in a step. */
export const ANSWER_SLOTS = 2000
export const RINGS_OFFSET = 49152
export const EVENT_BYTES = 64
export const CONTROLLER_OFFSET = 128
export const BOUNDARY_OFFSET = 256
export const STAGE_OFFSET = 512
export const STAGE_BYTES = 64

/** A stage beats every 100 ms; a heartbeat that is older than this, ms, means that its writer is gone or stuck. */
export const STALE_MS = 250

/** The controller beats at least this often, ms. */
export const CONTROLLER_BEAT_MS = 50

/** The engine gives a controller up after this, ms: early enough for one more step to begin within `STALE_MS` of the last beat. */
export const CONTROLLER_STALE_MS = 150

/** Bytes of the file on which locks are taken; they carry no data. The janitor's is held while a dead segment is removed. */
export const LOCK = Object.freeze({ janitor: 0, controller: 1, stage0: 16 })

export const HEADER: readonly Field[] = [
  ['magic', 'u64', 0],
  ['layoutHash', 'u32', 8],
  ['version', 'u32', 12],
  ['totalBytes', 'u32', 16],
  ['numStages', 'u32', 20],
  ['ringSlots', 'u32', 24],
  ['creatorPid', 'u32', 28],
  ['instance', 'u64', 32],
  ['createdNs', 'i64', 40],
  ['crc', 'u32', 60],
]

/** Written by the controller alone. `published` counts tables; its lowest bit says which bank holds the newest. */
export const CONTROLLER: readonly Field[] = [
  ['heartbeatNs', 'i64', 0],
  ['pid', 'u32', 8],
  ['mode', 'u32', 12],
  ['published', 'u32', 16],
  ['resync', 'u32', 20],
  ['session', 'u32', 24],
  ['readCursor0', 'u32', 32],
]

/** The engine's question. `bell` is rung last, `answered` is what the engine waits on. */
export const BOUNDARY: readonly Field[] = [
  ['bell', 'u32', 0],
  ['nowNs', 'i64', 8],
  ['step', 'u32', 16],
  ['running', 'u32', 20],
  ['waiting', 'u32', 24],
  ['cursor', 'u32', 28],
  ['crc', 'u32', 32],
  ['answered', 'u32', 64],
  ['stop', 'u32', 68],
]

/** One line per stage process, written by it alone. */
export const STAGE: readonly Field[] = [
  ['heartbeatNs', 'i64', 0],
  ['pid', 'u32', 8],
  ['written', 'u32', 12],
  ['dropped', 'u32', 16],
  ['running', 'u32', 20],
  ['waiting', 'u32', 24],
  ['tokens', 'u32', 28],
  ['step', 'u32', 32],
  ['appliedLevel', 'i32', 36],
  ['claimed', 'u32', 40],
  ['levelRefusal', 'u32', 44],
  ['device', 'u32', 48],
]

/** The published control state: what the engine evaluates against its own slots, deadlines and step counter. */
export const BANK: readonly Field[] = [
  ['crc', 'u32', 0],
  ['seq', 'u32', 4],
  ['publishedNs', 'i64', 8],
  ['numClasses', 'u32', 16],
  ['epoch', 'u32', 20],
  ['tableEpoch', 'u32', 24],
  ['classEpoch', 'u32', 28],
  ['flags', 'u32', 32],
  ['n', 'u32', 36],
  ['nMin', 'u32', 40],
  ['nMax', 'u32', 44],
  ['m', 'u32', 48],
  ['longCap', 'u32', 52],
  ['level', 'i32', 56],
  ['levelSms', 'u32', 60],
  ['headroomSms', 'u32', 64],
  ['longDownstream', 'u32', 68],
  ['pressureRaw', 'f64', 80],
  ['pressure', 'f64', 88],
  ['shareFloor', 'f64', 96],
]
export const BANK_SCALARS = 128

/** One class: who belongs to it, what it may take, and the line that gives its offsets per bucket. */
export const CLASS_ROW: readonly Field[] = [
  ['sloMs', 'f64', 0],
  ['slowdown', 'f64', 8],
  ['waitMs', 'f64', 16],
  ['uGuard', 'f64', 24],
  ['uLost', 'f64', 32],
  ['path', 'u32', 40],
  ['priority', 'i32', 44],
]
export const CLASS_ROW_BYTES = 48

/** Head of the class descriptions: JSON text of `length` bytes follows at 16; `crc` covers head (from 4) and text. */
export const CLASSES: readonly Field[] = [
  ['crc', 'u32', 0],
  ['classEpoch', 'u32', 4],
  ['length', 'u32', 8],
]
export const CLASSES_OFFSET = 16384
export const CLASSES_HEAD = 16
export const CLASSES_BYTES = 32768

export const EVENT: readonly Field[] = [
  ['seq', 'u32', 0],
  ['kind', 'u8', 4],
  ['stage', 'u8', 5],
  ['classIndex', 'u16', 6],
  ['timeNs', 'i64', 8],
  ['idHigh', 'u64', 16],
  ['idLow', 'u64', 24],
  ['a', 'u32', 32],
  ['b', 'u32', 36],
  ['c', 'u32', 40],
  ['d', 'u32', 44],
  ['e', 'u32', 48],
  ['f', 'u32', 52],
  ['crc', 'u32', 60],
]

/** Head of a lockstep answer; the slots follow at 32, `crc` covers head (from 4) and slots. */
export const ANSWER: readonly Field[] = [
  ['crc', 'u32', 0],
  ['bell', 'u32', 4],
  ['step', 'u32', 8],
  ['numSlots', 'u32', 12],
  ['level', 'i32', 16],
  ['flags', 'u32', 20],
]
export const ANSWER_HEAD = 32

/** What happened. The meaning of `a` to `f` is beside `EngineEvent` in `events.ts`. */
export const KIND = Object.freeze({
  arrive: 1,
  admit: 2,
  preempt: 3,
  firstResponse: 4,
  finish: 5,
  abort: 6,
  step: 7,
  activity: 8,
  syncBegin: 9,
  syncEnd: 10,
  /** A request that had its first response before is through its prefill again. */
  prefilled: 11,
  /** Decoded, and still holding its place: a session between two turns, a request whose next stage has not fetched it yet. */
  handedOver: 12,
})
export const MAX_KIND = 12

export const MODE = Object.freeze({ none: 0, published: 1, lockstep: 2 })

/** Bits of `BANK.flags`. */
export const FLAG = Object.freeze({
  /** A rotation declares phases; without it both paths are always shown. */
  rotate: 1,
  /** N is held for a cycle; without it, renewed each step (Algorithm 1 as printed). */
  cycle: 2,
  /** A phase with nothing of its own to run passes to the other path. */
  workConserving: 4,
  /** `longCap` limits ordinary long-path requests. */
  limitLong: 8,
  /** The cap counts requests that decode too, not only those that prefill. */
  capShared: 16,
  /** Protected requests are shown whatever the phase. */
  exemptProtected: 32,
  /** Lost long-path requests are shown last, and only as the floor allows. */
  triage: 64,
  /** Show everything: the controller watches and decides nothing. */
  observe: 128,
  /** A stage after the shared one has work, so the level of the co-running ladder is in force. */
  downstreamActive: 256,
  /** Base order by deadline instead of arrival. */
  byDeadline: 512,
})

/**
 * Why a stage applies no level, by `STAGE.levelRefusal`; the sentences are in `python/horizonserve/level_refusal.py`. `none`: levels are
 * applied, or nothing is known.
 */
export const LEVEL_REFUSALS = Object.freeze([
  'none',
  'graphs',
  'pipeline-parallel',
  'several-gpus',
  'ubatching',
  'no-mps',
  'no-ladder',
  'no-row',
  'unknown-stage',
  'driver',
] as const)

/** Bits of the modality masks in class descriptions. */
export const MODALITY = Object.freeze({ text: 1, audio: 2, image: 4, video: 8 })

const RECORDS: ReadonlyArray<readonly [string, readonly Field[]]> = [
  ['header', HEADER],
  ['controller', CONTROLLER],
  ['boundary', BOUNDARY],
  ['stage', STAGE],
  ['bank', BANK],
  ['class', CLASS_ROW],
  ['classes', CLASSES],
  ['event', EVENT],
  ['answer', ANSWER],
]

/** The layout as one line of text; both languages must build the same. */
export const LAYOUT_TEXT: string = [
  `version=${WIRE_VERSION}`,
  `sizes=${[HEADER_BYTES, BANK_BYTES, BANK_SCALARS, CLASS_ROW_BYTES, EVENT_BYTES, STAGE_BYTES].join(',')}`,
  `places=${[CONTROLLER_OFFSET, BOUNDARY_OFFSET, STAGE_OFFSET, ANSWER_OFFSET, ANSWER_HEAD, ANSWER_SLOTS, CLASSES_OFFSET, CLASSES_HEAD, CLASSES_BYTES, RINGS_OFFSET].join(',')}`,
  `limits=${[MAX_STAGES, MAX_WIRE_CLASSES, MAX_KIND].join(',')}`,
  `refusals=${LEVEL_REFUSALS.join(',')}`,
  ...RECORDS.map(
    ([name, fields]) => `${name}=${fields.map(([n, t, at]) => `${n}:${t}@${at}`).join(',')}`,
  ),
].join(';')

export const LAYOUT_HASH: number = crc32(new TextEncoder().encode(LAYOUT_TEXT), 0)

/** Offset of a field; a misspelt name is caught when the module loads. */
export function offsetOf(fields: readonly Field[], name: string): number {
  const field = fields.find(([n]) => n === name)
  if (field === undefined) throw new RangeError(`no field ${name} in the layout`)
  return field[2]
}
