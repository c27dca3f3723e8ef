/**
 * @module
 * How long GPU work takes when two stages share the device. Three ways to share, as the paper compares them:
 *
 * - `time-sliced`: two processes without MPS take turns; while one runs the other waits.
 * - `mps`: both run at once on all SMs; they compete for SMs and for bandwidth, and the shared stage pays figure 4's price of
 *   full allocation.
 * - `green-contexts`: the shared stage holds a fraction of the SMs, the downstream stage all the others; only bandwidth is shared.
 *
 * The other stage is present for its duty: the share of its own unit of work that it is on the GPU. Work already under way keeps the
 * speed it began with when the other stage comes or goes; a step or unit is at most a few hundred ms. Neither cache
 * interference nor launch order is modelled.
 */
import type { OmniSpec } from './spec.js'

export type SharingMode = 'time-sliced' | 'mps' | 'green-contexts'

/** Work for the GPU by one stage, at the full device and alone. */
export interface GpuWork {
  computeMs: number
  memoryMs: number
}

/** What a stage does to its neighbour; all zero when it is idle. */
export interface Presence {
  /** Share of time on the GPU. */
  duty: number
  /** While on the GPU: share of the bandwidth, share of the SMs' throughput it wants. */
  bandwidth: number
  compute: number
}

export interface CoRunning {
  /** GPU time of a step of the shared stage on a fraction of the SMs, beside `other`. @hot */
  sharedMs(work: GpuWork, smFraction: number, other: Presence, prefills: boolean): number
  /** GPU time of the downstream stage while the shared stage holds `sharedFraction` (0 when it is idle). @hot */
  downstreamMs(work: GpuWork, sharedFraction: number, other: Presence): number
  /** Memory-bound time on a fraction of the SMs, relative to the best fraction. */
  memoryTime(smFraction: number): number
}

export function createCoRunning(mode: SharingMode, sharing: OmniSpec['sharing']): CoRunning {
  const points = sharing.memoryTimeBySmFraction
  const [lowestFraction, lowestTime] = points[0] as readonly [number, number]
  // Figure 4's ratio of full to best allocation contains the slower memory-bound step; the rest is the price of co-running.
  const penalty = Math.max(0, sharing.fullAllocationPenalty / memoryTime(1) - 1)
  const ramp = 1 - sharing.penaltyStartsAt

  function memoryTime(fraction: number): number {
    if (fraction <= lowestFraction) return (lowestTime * lowestFraction) / Math.max(fraction, 1e-3)
    for (let i = 1; i < points.length; i++) {
      const [right, rightTime] = points[i] as readonly [number, number]
      if (fraction > right) continue
      const [left, leftTime] = points[i - 1] as readonly [number, number]
      return leftTime + ((rightTime - leftTime) * (fraction - left)) / (right - left)
    }
    return (points[points.length - 1] as readonly [number, number])[1]
  }

  /** Both stages on the GPU at once, one of them on `fraction` of the SMs. */
  function spatialMs(work: GpuWork, fraction: number, other: Presence, sharesSms: boolean): number {
    const share = Math.max(fraction, 1e-3)
    const alone = Math.max(work.computeMs, work.memoryMs)
    const wanted = alone === 0 ? 0 : work.memoryMs / alone
    const excess = Math.max(0, wanted + other.bandwidth - 1)
    const compute = (work.computeMs / share) * (sharesSms ? 1 + other.duty * other.compute : 1)
    const memory = work.memoryMs * memoryTime(share) * (1 + other.duty * excess)
    return Math.max(compute, memory)
  }

  function slicedMs(work: GpuWork, other: Presence): number {
    const alone = Math.max(work.computeMs, work.memoryMs * memoryTime(1))
    return alone * (1 + other.duty * (1 + sharing.timeSliceSwitch))
  }

  return {
    memoryTime,
    sharedMs(work, smFraction, other, prefills) {
      if (mode === 'time-sliced') return slicedMs(work, other)
      const fraction = mode === 'mps' ? 1 : smFraction
      const above = ramp > 0 ? Math.max(0, (fraction - sharing.penaltyStartsAt) / ramp) : 0
      // Figure 4 measured first responses beside a running downstream stage, whatever its duty was: so steps that prefill pay,
      // steps that only decode do not, and nothing is weighted by our duty.
      const price = prefills && other.duty > 0 ? 1 + penalty * above : 1
      return spatialMs(work, fraction, other, mode === 'mps') * price
    },
    downstreamMs(work, sharedFraction, other) {
      if (mode === 'time-sliced') return slicedMs(work, other)
      // A step begun with every SM, while nothing ran downstream, leaves no partition to run in: the two compete until it ends.
      if (mode === 'mps' || sharedFraction >= 1) return spatialMs(work, 1, other, true)
      return spatialMs(work, 1 - sharedFraction, other, false)
    },
  }
}
