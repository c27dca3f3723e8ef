/**
 * @module
 * Path rotation (paper, section 4.3): of N + M steps, N are short-path steps, in which ordinary long-path requests are hidden, and M
 * are long-path steps, in which ordinary short-path ones are. N follows the fraction of waiting short-path requests that are protected.
 */

import { expectInteger } from '../core/errors.js'
import type { ViewFilter } from '../core/ports.js'
import { LONG, SHORT } from '../core/request-class.js'
import { ORDINARY, PROTECTED } from '../core/request-table.js'

export interface PathRotationOptions {
  /** Long-path steps of a cycle. The paper fixes 2. @default 2 */
  readonly m?: number
  /** Short-path steps of a cycle, least and most; equal for a fixed N. @default 2 and 8 */
  readonly nMin?: number
  readonly nMax?: number
  /**
   * `cycle` holds N for a whole cycle, so that every window of nMax + m steps has at least m long-path steps.
   * `step` renews N in each step and asks `k mod (N + M) < N`: Algorithm 1 as printed, where that bound does not hold.
   * @default 'cycle'
   */
  readonly update?: 'cycle' | 'step'
}

/** Steps of a phase, at most. */
const MOST = 1_000_000

export const defaultPathRotation = Object.freeze({
  m: 2,
  nMin: 2,
  nMax: 8,
  update: 'cycle',
}) satisfies Required<PathRotationOptions>

/** N for a fraction of protected short-path requests: linear in [nMin, nMax], halves up (the same in Python). */
export function shortSteps(fraction: number, nMin: number, nMax: number): number {
  return Math.floor(nMin + fraction * (nMax - nMin) + 0.5)
}

/** Throws `ERR_POLICIES_ROTATION` for impossible options. */
export function pathRotation(options: PathRotationOptions = {}): ViewFilter {
  const { m, nMin, nMax, update } = { ...defaultPathRotation, ...options }
  const code = 'ERR_POLICIES_ROTATION'
  expectInteger(code, 'rotation.m', m, 1, MOST)
  expectInteger(code, 'rotation.nMin', nMin, 0, MOST)
  expectInteger(code, 'rotation.nMax', nMax, nMin, MOST)
  let n = nMin
  let position = 0
  return {
    name: 'path-rotation',
    filter(signals, groups) {
      const starts = position === 0
      if (update === 'step' || starts) {
        const urgent = signals.waitingOn(SHORT, PROTECTED)
        const all = urgent + signals.waitingOn(SHORT, ORDINARY)
        n = all === 0 ? nMin : Math.floor(nMin + (urgent / all) * (nMax - nMin) + 0.5)
      }
      const at = update === 'step' ? signals.step % (n + m) : position
      position = position + 1 >= n + m ? 0 : position + 1
      groups.n = n
      groups.phase = at < n ? SHORT : LONG
      groups.hide(at < n ? LONG : SHORT, true)
    },
  }
}
