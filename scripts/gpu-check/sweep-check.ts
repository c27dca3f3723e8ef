/**
 * @module
 * The sweep as a check: every row measured, and what a cap does to two stages that co-run in one process.
 */
import { sweepLadder } from '../../src/gpu/sweep.js'
import type { Check } from './check.js'

export const sweep: Check = {
  name: 'sweep',
  run({ cuda, ladder, stages, device, quick }) {
    const rows = sweepLadder(cuda, ladder, stages, { steps: quick ? 6 : 60 })
    const failed = rows.flatMap((row) =>
      Object.entries(row)
        .filter(([, value]) => typeof value === 'number' && !Number.isFinite(value))
        .map(([key]) => `row ${row.index}: ${key} was not measured`),
    )
    const off = rows[ladder.offIndex]
    // Slow-down of each stage beside the other, with no cap and per row: what a cap buys and what it costs.
    const slowdown = rows.map((row) => ({
      sms: `${row.sharedSms}/${row.downstreamSms}`,
      kind: row.kind,
      shared: ratio(row.sharedCoRunMs, off?.sharedAloneMs),
      downstream: ratio(row.downstreamCoRunMs, off?.downstreamAloneMs),
    }))
    return { failed, values: { rows, slowdown, peakGbPerSec: device.peakBytesPerSec / 1e9 } }
  },
}

function ratio(a: number, b: number | undefined): number {
  return Number((a / (b ?? Number.NaN)).toPrecision(4))
}
