/**
 * @module
 * A cap that does not follow pressure: one row while a downstream stage runs (for sweeps and ablations), the aggressive row otherwise.
 */
import { HorizonError } from '../core/errors.js'
import type { CapController } from '../core/ports.js'

export interface FixedCapOptions {
  /** SMs of the row to hold while co-running; must be one of the ladder's. */
  readonly sms: number
}

/** Throws `ERR_POLICIES_FIXED_CAP` in the first step when the ladder has no such row. */
export function fixedCap(options: FixedCapOptions): CapController {
  let row = -1
  return {
    name: 'fixed-cap',
    cap(signals, ladder) {
      if (row === -1) row = ladder.sms.indexOf(options.sms)
      if (row === -1) {
        throw new HorizonError('ERR_POLICIES_FIXED_CAP', 'the ladder has no such row', {
          field: 'cap.fixedSms',
          expected: `one of ${ladder.sms.join(', ')}`,
          got: options.sms,
        })
      }
      return signals.downstreamActive ? row : ladder.aggressive
    },
    smoothed: () => NaN,
  }
}
