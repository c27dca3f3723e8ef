/**
 * @module
 * The published control state as a record, and its bytes in a bank. The controller publishes coefficients, not verdicts: a waiting
 * request of class c and bucket b is protected when `deadline - now < protectMs(c, b)` and lost when `deadline - now < loseMs(c, b)`,
 * where both offsets follow from the class row and the bucket's edge by the arithmetic of the core, so that they agree to the last bit.
 */
import { protocolError } from './adapter-error.js'
import { crc32 } from './crc32.js'
import {
  BANK,
  BANK_BYTES,
  BANK_SCALARS,
  CLASS_ROW,
  CLASS_ROW_BYTES,
  type Field,
  MAX_WIRE_CLASSES,
} from './layout.js'

/** One class as the engine needs it. Spans in ms. */
export interface ClassRow {
  /** Δ, ms after arrival. */
  readonly sloMs: number
  /** Measured over estimated time; 1 when nothing is slower than its profile. */
  readonly slowdown: number
  /** Expected wait for a downstream stage, ms; 0 where the policy leaves it out. */
  readonly waitMs: number
  /** 0 switches protection off. */
  readonly uGuard: number
  /** 0 switches loss off. */
  readonly uLost: number
  /** 0 short, 1 long. */
  readonly path: number
  readonly priority: number
}

/** Everything that an engine needs to decide a step alone. */
export interface ControlState {
  readonly publishedNs: bigint
  readonly epoch: number
  /** Changes when slowdowns, waits or guards change. */
  readonly tableEpoch: number
  /** Changes when classes change, which reclassifies everything that waits. */
  readonly classEpoch: number
  readonly flags: number
  /** N of the next cycle; 0 leaves it to the engine's own counts, between `nMin` and `nMax`. */
  readonly n: number
  readonly nMin: number
  readonly nMax: number
  readonly m: number
  readonly longCap: number
  /** Row of the ladder in force, -1 for none, and what it means in SMs. */
  readonly level: number
  readonly levelSms: number
  readonly headroomSms: number
  /** Long-path requests that stages after the shared one hold. */
  readonly longDownstream: number
  readonly pressureRaw: number
  readonly pressure: number
  /** Fraction of steps whose first place goes to the lost request with the earliest deadline, in [0, 1]. */
  readonly shareFloor: number
  readonly classes: readonly ClassRow[]
}

const ROW_NAMES = CLASS_ROW.map(([name]) => name as keyof ClassRow)
const SCALARS = BANK.filter(([name]) => !['crc', 'seq', 'numClasses'].includes(name))

/** Writes a state into a bank of `BANK_BYTES`, sequence and checksum included. */
export function encodeControlState(bank: DataView, seq: number, state: ControlState): void {
  if (state.classes.length > MAX_WIRE_CLASSES) {
    throw protocolError('too many classes to publish', {
      field: 'classes',
      expected: `at most ${MAX_WIRE_CLASSES}`,
      got: state.classes.length,
    })
  }
  bank.setUint32(4, seq, true)
  bank.setUint32(16, state.classes.length, true)
  for (const field of SCALARS) write(bank, 0, field, state[field[0] as keyof ControlState])
  for (let c = 0; c < state.classes.length; c++) {
    const row = state.classes[c]!
    const base = BANK_SCALARS + c * CLASS_ROW_BYTES
    for (let i = 0; i < CLASS_ROW.length; i++) write(bank, base, CLASS_ROW[i]!, row[ROW_NAMES[i]!])
  }
  bank.setUint32(0, checksum(bank, state.classes.length), true)
}

/**
 * Reads a copy of a bank. The copy must not change under the reader.
 * @throws `ERR_ADAPTERS_PROTOCOL`
 */
export function decodeControlState(bank: DataView): { seq: number; state: ControlState } {
  if (bank.byteLength !== BANK_BYTES) {
    throw protocolError('a bank has the wrong size', {
      expected: `${BANK_BYTES} bytes`,
      got: bank.byteLength,
    })
  }
  const numClasses = bank.getUint32(16, true)
  if (numClasses > MAX_WIRE_CLASSES) {
    throw protocolError('too many classes', {
      field: 'numClasses',
      expected: `at most ${MAX_WIRE_CLASSES}`,
      got: numClasses,
    })
  }
  const crc = checksum(bank, numClasses)
  if (crc !== bank.getUint32(0, true)) {
    throw protocolError('the checksum of a bank is wrong', {
      expected: String(crc),
      got: bank.getUint32(0, true),
    })
  }
  const record: Record<string, unknown> = {}
  for (const field of SCALARS) record[field[0]] = read(bank, 0, field)
  const classes: ClassRow[] = []
  for (let c = 0; c < numClasses; c++) {
    const row: Record<string, unknown> = {}
    for (const field of CLASS_ROW) {
      row[field[0]] = read(bank, BANK_SCALARS + c * CLASS_ROW_BYTES, field)
    }
    checkRow(row as unknown as ClassRow, c)
    classes.push(row as unknown as ClassRow)
  }
  record.classes = classes
  const state = record as unknown as ControlState
  checkState(state)
  return { seq: bank.getUint32(4, true), state }
}

function checksum(bank: DataView, numClasses: number): number {
  const bytes = new Uint8Array(bank.buffer, bank.byteOffset, BANK_BYTES)
  return crc32(bytes, 0, 4, BANK_SCALARS + numClasses * CLASS_ROW_BYTES)
}

/** A checksum can be right over nonsense; what would make a decision meaningless is refused here. */
function checkState(state: ControlState): void {
  const inUnit = (value: number): boolean => Number.isNaN(value) || (value >= 0 && value <= 1)
  if (state.m < 1 || state.m > 1024) throw badField('m', '1 to 1024', state.m)
  if (state.nMax > 1024) throw badField('nMax', 'at most 1024', state.nMax)
  if (state.nMin > state.nMax) throw badField('nMin', `at most nMax (${state.nMax})`, state.nMin)
  if (state.n > 1024) throw badField('n', 'at most 1024', state.n)
  if (state.level < -1 || state.level > 255) throw badField('level', '-1 to 255', state.level)
  if (!inUnit(state.pressureRaw)) throw badField('pressureRaw', '0 to 1', state.pressureRaw)
  if (!inUnit(state.pressure)) throw badField('pressure', '0 to 1', state.pressure)
  if (!(state.shareFloor >= 0 && state.shareFloor <= 1)) {
    throw badField('shareFloor', '0 to 1', state.shareFloor)
  }
}

function checkRow(row: ClassRow, index: number): void {
  const at = (name: string): string => `classes.${index}.${name}`
  if (!(row.sloMs > 0 && row.sloMs < 1e12)) throw badField(at('sloMs'), 'ms above 0', row.sloMs)
  for (const name of ROW_NAMES.slice(1, 5)) {
    const value = row[name]
    if (!(value >= 0 && value < 1e12)) throw badField(at(name), 'a finite number from 0', value)
  }
  if (row.path > 1) throw badField(at('path'), '0 or 1', row.path)
}

function badField(field: string, expected: string, got: unknown): Error {
  return protocolError('impossible value', { field, expected, got })
}

function write(view: DataView, base: number, [, type, at]: Field, value: unknown): void {
  if (type === 'f64') view.setFloat64(base + at, value as number, true)
  else if (type === 'i32') view.setInt32(base + at, value as number, true)
  else if (type === 'i64') view.setBigInt64(base + at, value as bigint, true)
  else view.setUint32(base + at, value as number, true)
}

function read(view: DataView, base: number, [, type, at]: Field): unknown {
  if (type === 'f64') return view.getFloat64(base + at, true)
  if (type === 'i32') return view.getInt32(base + at, true)
  if (type === 'i64') return view.getBigInt64(base + at, true)
  return view.getUint32(base + at, true)
}
