/**
 * @module
 * Bandwidth-guided SM throttling (paper, section 4.4, equation 1). While a downstream stage runs, smoothed memory pressure picks a row
 * between Smin and Scap: more pressure gives the shared stage more SMs, never the whole GPU. Without one, the aggressive row.
 */
import { doubles } from '../core/columns.js'
import { ABOVE_0, expectInteger, expectNumber } from '../core/errors.js'
import { snapToLevel } from '../core/ladder.js'
import type { CapController } from '../core/ports.js'
import { TIME } from '../core/signals.js'

export interface SmThrottleOptions {
  /** Weight of a new sample: B <- gamma * sample + (1 - gamma) * B. The paper prints 0.4 and not what it weighs. @default 0.4 */
  readonly gamma?: number
  /** Pressure at which the shared stage gets Scap, in (0, 1]; belongs to the kind of pressure measured. @default 0.9 */
  readonly saturation?: number
  /** Co-running, the row moves only when it would move by at least this many rows. @default 1 */
  readonly deltaStep?: number
  /** Smooth once per new sample, or in every step with the last one (literal). @default 'per-sample' */
  readonly smoothing?: 'per-sample' | 'per-step'
}

export const defaultSmThrottle = Object.freeze({
  gamma: 0.4,
  saturation: 0.9,
  deltaStep: 1,
  smoothing: 'per-sample',
}) satisfies Required<SmThrottleOptions>

/** Throws `ERR_POLICIES_THROTTLE` for impossible options. */
export function smThrottle(options: SmThrottleOptions = {}): CapController {
  const { gamma, saturation, deltaStep, smoothing } = { ...defaultSmThrottle, ...options }
  const code = 'ERR_POLICIES_THROTTLE'
  expectNumber(code, 'throttle.gamma', gamma, ABOVE_0, 1)
  expectNumber(code, 'throttle.saturation', saturation, ABOVE_0, 1)
  expectInteger(code, 'throttle.deltaStep', deltaStep, 1)
  const smooth = Float64Array.of(NaN)
  const target = doubles(1)
  let samples = 0
  let wasCorunning = false
  return {
    name: 'sm-throttle',
    cap(signals, ladder) {
      const value = signals.times[TIME.pressure]!
      if (Number.isNaN(value)) {
        // Unknown (again): the cap follows downstream activity alone.
        smooth[0] = value
        samples = 0
      } else if (signals.pressureIsNew || (smoothing === 'per-step' && samples > 0)) {
        smooth[0] = samples === 0 ? value : gamma * value + (1 - gamma) * smooth[0]!
        samples = 1
      }
      const corunning = signals.downstreamActive
      const entering = corunning && !wasCorunning
      wasCorunning = corunning
      if (!corunning) return ladder.aggressive
      const { sms, cap } = ladder
      const ratio = samples === 0 ? 0 : Math.min(1, Math.max(0, smooth[0]! / saturation))
      target[0] = sms[0]! + ratio * (sms[cap]! - sms[0]!)
      const wanted = snapToLevel(ladder, target)
      const applied = signals.appliedLevel
      // The aggressive row is outside the co-running ladder: leaving it is never a matter of hysteresis.
      if (entering || applied < 0 || applied > cap) return wanted
      return Math.abs(wanted - applied) >= deltaStep ? wanted : applied
    },
    smoothed: () => smooth[0]!,
  }
}
