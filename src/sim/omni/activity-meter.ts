/**
 * @module
 * What NVML would read as memory utilisation: the share of time in which work for the GPU had memory active, averaged over a period
 * and renewed once per period, so the reading lags as the real one does. A stage is active for its duty; two stages overlap as if
 * independent. The figure depends on the model of the GPU; what a policy uses is its ratio to the saturation that was calibrated with
 * the same meter.
 */

export interface ActivityMeter {
  /** A stage begins a step or unit that keeps the GPU busy for `duty` of its time; 0 when it stops. @hot */
  set(stage: 'shared' | 'downstream', duty: number, nowMs: number): void
  /** Renews the reading if a period has passed. True when it is new. @hot */
  sample(nowMs: number): boolean
  /** Newest reading in [0, 1], NaN before the first; and when it was renewed. */
  readonly value: number
  readonly timestampMs: number
  /** Mean over the run so far, and over the time in which both stages ran (NaN if they never did). */
  mean(nowMs: number): number
  corunningMean(nowMs: number): number
}

export function createActivityMeter(periodMs: number): ActivityMeter {
  let shared = 0
  let downstream = 0
  let lastMs = 0
  let integral = 0
  let total = 0
  let corunning = 0
  let corunningMs = 0
  let periodStartMs = 0
  let value = Number.NaN
  let timestampMs = Number.NaN

  function advance(nowMs: number): void {
    const span = nowMs - lastMs
    const area = (1 - (1 - shared) * (1 - downstream)) * span
    lastMs = nowMs
    integral += area
    total += area
    if (shared === 0 || downstream === 0) return
    corunning += area
    corunningMs += span
  }

  return {
    get value() {
      return value
    },
    get timestampMs() {
      return timestampMs
    },
    set(stage, duty, nowMs) {
      advance(nowMs)
      if (stage === 'shared') shared = duty
      else downstream = duty
    },
    sample(nowMs) {
      if (nowMs - periodStartMs < periodMs) return false
      advance(nowMs)
      value = Math.min(1, integral / (nowMs - periodStartMs))
      timestampMs = nowMs
      integral = 0
      periodStartMs = nowMs
      return true
    },
    mean(nowMs) {
      advance(nowMs)
      return nowMs > 0 ? total / nowMs : 0
    },
    corunningMean(nowMs) {
      advance(nowMs)
      return corunningMs > 0 ? corunning / corunningMs : Number.NaN
    },
  }
}
