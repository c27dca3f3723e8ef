/**
 * @module
 * Pressure on machines without a GPU: the share of time in which some task stood still for want of a resource, by Linux's pressure stall
 * information (Documentation/accounting/psi.rst). The kernel counts microseconds; the value is what they grew by since the last reading.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { NVML_RETURN } from './abi.js'
import { type PressureProbe, RENEWED_MS, VALUE } from './pressure-source.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/** What tasks wait for. */
export type StallResource = 'cpu' | 'memory' | 'io'

/** Options of the probe. */
export interface StallPressureOptions {
  /** @default memory */
  readonly resource?: StallResource
  /** A control group's own file, such as `/sys/fs/cgroup/stage/memory.pressure`. @default the whole machine's, under `/proc/pressure` */
  readonly path?: string
  /** Time between two readings, ms. @default 100 */
  readonly intervalMs?: number
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
}

/** Opens the file. @throws the system's error where the kernel keeps no such account */
export function createStallProbe(options: StallPressureOptions = {}): PressureProbe {
  const resource = options.resource ?? 'memory'
  const clock = options.clock ?? createMonotonicClock()
  const intervalMs = options.intervalMs ?? 100
  const file = openSync(options.path ?? `/proc/pressure/${resource}`, 'r')
  const buffer = Buffer.alloc(256)
  let isClosed = false
  const total = (): number =>
    stalledUs(buffer.toString('latin1', 0, readSync(file, buffer, 0, 256, 0)))
  clock.read()
  let lastMs = clock.ms[0] as number
  let lastUs = total()
  let hasValue = false
  return {
    name: `stall-${resource}`,
    kind: `${resource}-stall`,
    read(cell) {
      if (isClosed) return NVML_RETURN.NVML_ERROR_UNINITIALIZED
      clock.read()
      const now = clock.ms[0] as number
      const passedMs = now - lastMs
      if (passedMs < intervalMs) return hasValue ? 0 : NVML_RETURN.NVML_ERROR_NO_DATA
      let us: number
      try {
        us = total()
      } catch {
        return NVML_RETURN.NVML_ERROR_NO_DATA
      }
      if (Number.isNaN(us)) return NVML_RETURN.NVML_ERROR_NO_DATA
      cell[VALUE] = Math.min(1, Math.max(0, (us - lastUs) / 1000 / passedMs))
      cell[RENEWED_MS] = now
      lastMs = now
      lastUs = us
      hasValue = true
      return 0
    },
    describeResult: () => 'no pressure stall information',
    close() {
      if (isClosed) return
      isClosed = true
      closeSync(file)
    },
  }
}

/** Microseconds of the line `some`; `NaN` for a text that is something else. */
export function stalledUs(text: string): number {
  const found = /^some .*\btotal=(\d+)/m.exec(text)
  return found === null ? Number.NaN : Number(found[1])
}
