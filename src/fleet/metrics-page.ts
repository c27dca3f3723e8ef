/**
 * @module
 * Reads an endpoint's page in Prometheus' text format: the gauges of the metrics contract (docs/fleet.md), and nothing else. The page is
 * untrusted: what is not a finite number of at least 0 is left out.
 */
import type { EndpointSample } from '../policies/index.js'

/** Whether the page held the contract; the sample is written either way, zero where nothing was said. */
export function readMetricsPage(
  text: string,
  classIndex: ReadonlyMap<string, number>,
  isLong: ArrayLike<number>,
  out: EndpointSample,
): boolean {
  for (const column of [out.expectedMs, out.waiting, out.lost, out.inShared, out.inFlight])
    column.fill(0)
  out.slots = 1
  out.holdMs = 0
  out.longStepMs = 0
  let found = false
  let rate = 0
  const pattern =
    /^horizonserve_([a-z_]+)(?:\{class="((?:[^"\\]|\\.)*)"\})? ([0-9.eE+-]+|NaN|[+-]Inf)(?: \d+)?$/gm
  for (const [, name, label, number] of text.matchAll(pattern)) {
    const value = Number(number)
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) continue
    if (label === undefined) {
      if (name === 'slots') out.slots = Math.max(1, value)
      if (name === 'capacity_rate') rate = value
      continue
    }
    const c = classIndex.get(label)
    if (c === undefined) continue
    if (name === 'expected_first_response_ms') {
      out.expectedMs[c] = value
      found = true
    } else if (name === 'waiting') out.waiting[c] = value
    else if (name === 'lost') out.lost[c] = value
    else if (name === 'in_shared_stage') out.inShared[c] = value
    else if (name === 'in_flight') out.inFlight[c] = value
    else if (name === 'capacity_rate' && value > 0 && isLong[c] === 1)
      out.longStepMs = Math.max(out.longStepMs, 1000 / value)
  }
  if (rate > 0) out.holdMs = (1000 * out.slots) / rate
  return found
}
