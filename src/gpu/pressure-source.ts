/**
 * @module
 * A pressure source from a probe: keeps the last value over a failure, gives it up when it is too old, and says so once.
 * It never smooths and never throws: a step must not fail because a counter did.
 */
import type { PressureSample, PressureSource } from '../core/ports.js'
import { isPassing } from './result.js'
import { createMonotonicClock, type StepClock } from './step-clock.js'

/** One way to ask the hardware. */
export interface PressureProbe {
  readonly name: string
  /** What is measured; a saturation threshold belongs to a kind. */
  readonly kind: 'memory-activity' | 'dram-bandwidth' | 'cpu-stall' | 'memory-stall' | 'io-stall'
  /**
   * Asks once. On success (0) `cell` holds the value in [0, 1] and the time it was renewed in ms; otherwise it is untouched.
   * Returns the NVML code. @hot
   */
  read(cell: Float64Array): number
  /** The library's words for a code, off the hot path. */
  describeResult(result: number): string
  close(): void
}

/** Places in a probe's cell. */
export const VALUE = 0
export const RENEWED_MS = 1

/** How a source behaves when its probe fails. */
export interface PressureSourceOptions {
  /** The scheduler's clock. @default CLOCK_MONOTONIC */
  readonly clock?: StepClock
  /** How long the last value stands in for a failing probe. @default 2000, two of NVML's slowest periods */
  readonly staleAfterMs?: number
  /** Told once per outage, with what failed and what is done instead. @default nothing */
  readonly onFailure?: (message: string) => void
}

/** A source that holds GPU resources. */
export interface GpuPressureSource extends PressureSource {
  /** The probe failed in a way that does not pass, and is not asked again. */
  hasEnded(): boolean
  close(): void
}

/** The port over a probe. */
export function createPressureSource(
  probe: PressureProbe,
  options: PressureSourceOptions = {},
): GpuPressureSource {
  const clock = options.clock ?? createMonotonicClock()
  const staleAfterMs = options.staleAfterMs ?? 2000
  const cell = new Float64Array(2)
  let hasValue = false
  let isDead = false
  let isOutage = false
  const isStale = (): boolean => {
    clock.read()
    return (clock.ms[0] as number) - (cell[RENEWED_MS] as number) > staleAfterMs
  }
  clock.read()
  const openedMs = clock.ms[0] as number
  const failed = (result: number): void => {
    isDead = !isPassing(result)
    if (isOutage) return
    // Before the first reading "no data yet" is no outage, until it lasts.
    clock.read()
    if (!isDead && !hasValue && (clock.ms[0] as number) - openedMs <= staleAfterMs) return
    isOutage = true
    options.onFailure?.(
      `${probe.name} failed (${result}, ${probe.describeResult(result)}): the last value stands for ${staleAfterMs} ms, then pressure is unknown${isDead ? '; it is not asked again' : ''}`,
    )
  }
  return {
    name: probe.name,
    sample(out: PressureSample): boolean {
      if (!isDead) {
        const result = probe.read(cell)
        if (result === 0) {
          hasValue = true
          isOutage = false
        } else {
          failed(result)
        }
      }
      if (!hasValue) return false
      if (isOutage && isStale()) return false
      // Written only when new: storing a double into some objects allocates, and most steps bring nothing new.
      const renewedMs = cell[RENEWED_MS] as number
      if (out.timestampMs !== renewedMs || out.source !== probe.name) {
        out.value = cell[VALUE] as number
        out.timestampMs = renewedMs
        out.kind = probe.kind
        out.source = probe.name
      }
      return true
    },
    hasEnded: () => isDead,
    close() {
      isDead = true
      hasValue = false
      probe.close()
    },
  }
}

/** A source that never knows: the cap controller then works from downstream activity alone. */
export function createNoPressureSource(): PressureSource {
  return { name: 'none', sample: () => false }
}

/** Percent as the hardware gives it, as a fraction; anything outside 0 to 100 % is `NaN`, which is no reading. */
export function fractionOf(percent: number): number {
  return percent >= 0 && percent <= 100 ? percent / 100 : Number.NaN
}
