/**
 * @module
 * First responses of the last minute, per class: attainment and p95 over what has happened lately, which totals since the start hide.
 */
import type { Scheduler } from '../core/index.js'
import { CHUNK_BITS, CHUNK_MASK } from '../core/request-table.js'

export const RECENT_MS = 60_000
/** Most responses kept per class: with more in a minute, the newest count. */
const KEPT = 1024

export interface RecentResponses {
  readonly responded: number
  readonly met: number
  /** NaN without a response. */
  readonly p95Ms: number
}

/** Listens to a scheduler from now on. `of(c)` answers for the minute before the scheduler's clock. */
export function watchRecent({ classes, events, table, cells }: Scheduler): {
  of(classIndex: number, nowMs: number): RecentResponses
} {
  const rings = classes.names.map(() => ({
    atMs: new Float64Array(KEPT),
    latencyMs: new Float64Array(KEPT),
    met: new Uint8Array(KEPT),
    count: 0,
  }))
  events.on('firstResponse', (handle, latencyMs, met) => {
    const slot = table.slotOf(handle)
    if (slot === -1) return
    const ring = rings[table.chunks[slot >> CHUNK_BITS]!.classIndex[slot & CHUNK_MASK]!]!
    const at = ring.count++ % KEPT
    // Its instant is not told: arrival plus latency is.
    ring.atMs[at] = table.chunks[slot >> CHUNK_BITS]!.arrivalMs[slot & CHUNK_MASK]! + latencyMs
    ring.latencyMs[at] = latencyMs
    ring.met[at] = met ? 1 : 0
  })
  return {
    of(classIndex, nowMs) {
      const ring = rings[classIndex]!
      const sinceMs = Math.max(nowMs, cells[0]!) - RECENT_MS
      const latencies: number[] = []
      let met = 0
      for (let i = 0; i < Math.min(KEPT, ring.count); i++) {
        if (ring.atMs[i]! < sinceMs) continue
        latencies.push(ring.latencyMs[i]!)
        met += ring.met[i]!
      }
      latencies.sort((a, b) => a - b)
      const rank = Math.max(1, Math.ceil(0.95 * latencies.length))
      return { responded: latencies.length, met, p95Ms: latencies[rank - 1] ?? Number.NaN }
    },
  }
}
