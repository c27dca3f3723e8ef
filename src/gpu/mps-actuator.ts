/**
 * @module
 * A share of the SMs by MPS: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, read by the driver when a process creates its context. It is
 * fixed from then on, holds any SMs rather than certain ones, and does not combine with Green Contexts. The static fallback.
 */
import { HorizonError } from '../core/errors.js'
import type { Actuator } from '../core/ports.js'

/** Options of the fallback. */
export interface MpsActuatorOptions {
  readonly totalSms: number
  /** SMs per row, as in the core's ladder. */
  readonly sms: ArrayLike<number>
  /** Row that the process is started with. */
  readonly startLevel: number
  /** Told once when another row is asked for while the process runs. @default nothing */
  readonly onIgnored?: (message: string) => void
}

/** An actuator whose row is chosen at start. */
export interface MpsActuator extends Actuator {
  /** What to set in the environment of the process before it starts. */
  readonly environment: Readonly<Record<string, string>>
}

/** Percentage for a number of SMs: rounded up, so that the process gets at least those. */
export function mpsPercentage(sms: number, totalSms: number): number {
  return Math.min(100, Math.max(1, Math.ceil((sms / totalSms) * 100)))
}

/** @throws `ERR_GPU_LEVELS` for a start row that is not there */
export function createMpsActuator(options: MpsActuatorOptions): MpsActuator {
  const { totalSms, sms, startLevel } = options
  const start = sms[startLevel]
  if (start === undefined || !(start > 0 && start <= totalSms)) {
    throw new HorizonError('ERR_GPU_LEVELS', 'no such row', {
      field: 'startLevel',
      expected: `an index from 0 to ${sms.length - 1} of a row with 1 to ${totalSms} SMs`,
      got: startLevel,
    })
  }
  let told = false
  return {
    name: 'mps-percentage',
    environment: Object.freeze({
      CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(mpsPercentage(start, totalSms)),
    }),
    apply(level) {
      if (level === startLevel || told) return
      told = true
      options.onIgnored?.(
        `MPS percentages are fixed at process start: the process stays at row ${startLevel} (${start} SMs), row ${level} is not applied`,
      )
    },
    readBack: () => startLevel,
  }
}

/** Applies nothing and reports the row asked for: decisions can be watched on a machine that cannot carry them out. */
export function createNoActuator(): Actuator {
  let asked = -1
  return {
    name: 'none',
    apply(level) {
      asked = level
    },
    readBack: () => asked,
  }
}
