/**
 * @module
 * A bound on lateness, beyond the paper: who was given up on is not given up on for ever. While a lost request is later than the bound,
 * the one that is latest is shown first, before anything on time, one in each step that a slot is free in. The bound is kept as far as
 * capacity allows: where more becomes late than can be served, all slots go to the late, in the order of their deadlines.
 */
import { ABOVE_0, expectNumber } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG, SHORT } from '../core/request-class.js'

export interface LatenessOptions {
  /** Ms past its deadline after which a request that still waits goes first. */
  readonly boundMs: number
}

/** Throws `ERR_POLICIES_LATENESS` for an impossible bound. */
export function lateness({ boundMs }: LatenessOptions): ViewFilter {
  expectNumber('ERR_POLICIES_LATENESS', 'lateness.boundMs', boundMs, ABOVE_0)
  return {
    name: 'lateness',
    filter(signals, groups) {
      if (signals.latenessMs(SHORT) > boundMs || signals.latenessMs(LONG) > boundMs) groups.rescue()
    },
  }
}
