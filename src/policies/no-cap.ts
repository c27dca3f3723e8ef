/**
 * @module
 * No spatial control: the aggressive row always, as the paper's baselines and its ablation without the throttle have it.
 */
import type { CapController } from '../core/ports.js'

export function noCap(): CapController {
  return {
    name: 'no-cap',
    cap: (_signals, ladder) => ladder.aggressive,
    smoothed: () => NaN,
  }
}
