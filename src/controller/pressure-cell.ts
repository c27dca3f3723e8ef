/**
 * @module
 * The newest pressure reading, handed from the thread that asks the GPU to the thread that decides: asking may take milliseconds, or
 * hang in a driver, and neither may keep a step or a heartbeat waiting. One writer; a reader that meets a half-written reading keeps
 * the one before.
 */
import type { PressureSample, PressureSource } from '../core/ports.js'
import { monotonicNs } from './monotonic-clock.js'

/** Sources by their number in the cell. */
const NAMES = ['none', 'nvml-samples', 'nvml-utilization', 'gpm-dram-bandwidth'] as const
const KINDS = ['none', 'memory-activity', 'memory-activity', 'dram-bandwidth'] as const

/** Words of the cell: sequence (odd while it is written), source, then three doubles by halves: value, renewed and asked, ms. */
const WORDS = 8
const SEQUENCE = 0
const SOURCE = 1
const HALVES = 2

/** A cell that holds nothing. */
export function createPressureCell(): SharedArrayBuffer {
  return new SharedArrayBuffer(WORDS * 4)
}

/** Puts readings into a cell. */
export interface PressureWriter {
  write(sample: Readonly<PressureSample>, askedMs: number): void
  /** There is no pressure (any more). */
  clear(): void
}

export function pressureWriter(cell: SharedArrayBuffer): PressureWriter {
  const i32 = new Int32Array(cell)
  const doubles = new Float64Array(3)
  const halves = new Int32Array(doubles.buffer)
  const store = (source: number): void => {
    // SYNC POINT: an odd sequence says that what follows is half-written.
    Atomics.add(i32, SEQUENCE, 1)
    Atomics.store(i32, SOURCE, source)
    for (let i = 0; i < halves.length; i++) Atomics.store(i32, HALVES + i, halves[i]!)
    Atomics.add(i32, SEQUENCE, 1)
  }
  return {
    write(sample, askedMs) {
      doubles[0] = sample.value
      doubles[1] = sample.timestampMs
      doubles[2] = askedMs
      store(Math.max(0, NAMES.indexOf(sample.source as (typeof NAMES)[number])))
    },
    clear: () => store(0),
  }
}

/** The port that the core samples. */
export interface PressureReader extends PressureSource {
  /** Changes with every reading that the GPU renewed. */
  samples(): number
  /** Source of the reading in force; `none` without one. */
  readonly source: string
  readonly kind: string
}

/** `staleAfterMs`: a reading that nobody has confirmed for so long is none, for the thread that asks hangs or is gone. */
export function pressureReader(cell: SharedArrayBuffer, staleAfterMs: number): PressureReader {
  const i32 = new Int32Array(cell)
  const doubles = new Float64Array(3)
  const halves = new Int32Array(doubles.buffer)
  const copy = new Int32Array(halves.length)
  let seen = 0
  let source = 0
  let renewals = 0

  const look = (): void => {
    const sequence = Atomics.load(i32, SEQUENCE)
    if (sequence === seen || (sequence & 1) === 1) return
    const from = Atomics.load(i32, SOURCE)
    for (let i = 0; i < copy.length; i++) copy[i] = Atomics.load(i32, HALVES + i)
    if (Atomics.load(i32, SEQUENCE) !== sequence) return
    const before = doubles[1]!
    seen = sequence
    halves.set(copy)
    if (from !== source || doubles[1] !== before) renewals += 1
    source = from < NAMES.length ? from : 0
  }
  const isStale = (): boolean => Number(monotonicNs()) / 1e6 - doubles[2]! > staleAfterMs
  const inForce = (): number => (source === 0 || isStale() ? 0 : source)

  return {
    name: 'pressure-cell',
    get source() {
      return NAMES[inForce()]!
    },
    get kind() {
      return KINDS[inForce()]!
    },
    samples() {
      look()
      return inForce() === 0 ? 0 : renewals
    },
    sample(out: PressureSample): boolean {
      look()
      const at = inForce()
      if (at === 0) return false
      out.value = doubles[0]!
      out.timestampMs = doubles[1]!
      out.kind = KINDS[at]!
      out.source = NAMES[at]!
      return true
    },
  }
}
