/**
 * @module
 * Scap, the ladder below it and Bsat from an SM sweep. The paper's rule: Scap is the smallest SM count that reaches near-best decode
 * TPOT without the latency degradation of full allocation (section 4.2). What it leaves open is an option.
 */
import { HorizonError, type LadderSpec } from '../../core/index.js'
import type { SmSweepRow } from './sm-sweep.js'

export interface LadderOptions {
  /** "Near-best": decode TPOT within this share of the best. @default 0.05 */
  readonly nearBest?: number
  /** "Without degradation": co-running TTFT within this share of the best. @default 0.1 */
  readonly degradation?: number
  /** Smin: the smallest SM count whose decode TPOT is within this share of the best. @default 0.25 */
  readonly minimum?: number
  /** Co-running rows at most. @default 4 */
  readonly levels?: number
}

export interface ChosenLadder {
  readonly ladder: LadderSpec
  readonly saturation: number
  /** Why these rows, in words. */
  readonly reason: string
}

/** `totalSms` is the whole GPU; rows of the sweep at or above it cannot be Scap. Throws `ERR_SIM_SWEEP_ROWS`. */
export function chooseLadder(
  sweep: readonly SmSweepRow[],
  totalSms: number,
  options: LadderOptions = {},
): ChosenLadder {
  const { nearBest = 0.05, degradation = 0.1, minimum = 0.25, levels = 4 } = options
  const rows = sweep.filter((row) => row.sms < totalSms)
  if (rows.length === 0) {
    throw new HorizonError('ERR_SIM_SWEEP_ROWS', 'the sweep has no row below the whole GPU', {
      expected: `rows with fewer than ${totalSms} SMs`,
      got: sweep.map((row) => row.sms).join(', '),
    })
  }
  // The best of the whole sweep: where full allocation is best, near-best is measured against it.
  const bestTpot = Math.min(...sweep.map((row) => row.decodeTpotMs))
  const bestTtft = Math.min(...sweep.map((row) => row.corunTtftMs))
  const near = rows.filter((row) => row.decodeTpotMs <= bestTpot * (1 + nearBest))
  const good = near.filter((row) => row.corunTtftMs <= bestTtft * (1 + degradation))
  const fallback = (near.length > 0 ? near : rows).reduce((a, b) =>
    b.corunTtftMs < a.corunTtftMs ? b : a,
  )
  const cap = good[0] ?? fallback
  const floor =
    rows.find((row) => row.decodeTpotMs <= bestTpot * (1 + minimum) && row.sms <= cap.sms) ?? cap
  const between = rows.filter((row) => row.sms >= floor.sms && row.sms <= cap.sms)
  const steps = Math.max(1, Math.min(levels, between.length) - 1)
  const chosen = new Set<number>()
  for (let i = 0; i <= steps; i++) {
    const target = floor.sms + ((cap.sms - floor.sms) * i) / steps
    const nearest = between.reduce((a, b) =>
      Math.abs(b.sms - target) < Math.abs(a.sms - target) ? b : a,
    )
    chosen.add(nearest.sms)
  }
  return {
    ladder: { totalSms, levels: [...chosen].sort((a, b) => a - b), aggressiveSms: totalSms },
    saturation: cap.corunPressure,
    reason:
      good.length > 0
        ? `Scap ${cap.sms}: decode TPOT ${cap.decodeTpotMs} ms against the best ${bestTpot} ms, co-running TTFT ${cap.corunTtftMs} ms against ${bestTtft} ms`
        : `Scap ${cap.sms}: no row is near-best in both; this one has the best co-running TTFT of those near-best in TPOT`,
  }
}
