/**
 * @module
 * The metrics contract (docs/fleet.md) as lines of Prometheus' text format. Every gauge has one unlabelled total beside its labelled
 * values, and labels are complete: a stock picker reads one series and never adds up.
 */
import type { EndpointSample } from './endpoint-outlook.js'

/** A sample whose columns are any lists of numbers. */
export type EndpointReading = {
  readonly [K in keyof EndpointSample]: EndpointSample[K] extends number
    ? number
    : ArrayLike<number>
}

/** `sloMs` per class, in the order of `names`. */
export function endpointGauges(
  names: readonly string[],
  sloMs: ArrayLike<number>,
  sample: EndpointReading,
  isLong: ArrayLike<number>,
): string {
  const out: string[] = []
  const gauge = (
    name: string,
    help: string,
    total: (values: readonly number[]) => number,
    of: (c: number) => number,
  ): void => {
    const values = names.map((_, c) => of(c))
    out.push(`# HELP horizonserve_${name} ${help}`, `# TYPE horizonserve_${name} gauge`)
    out.push(`horizonserve_${name} ${total(values)}`)
    for (const [c, label] of names.entries())
      out.push(`horizonserve_${name}{class="${escaped(label)}"} ${values[c]}`)
  }
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
  gauge(
    'headroom_ratio',
    'Slack over SLO that a request which arrived now would have, 0 to 1; 0: it would be lost. Total: the smallest.',
    (values) => Math.min(...values),
    (c) => Math.min(1, Math.max(0, 1 - sample.expectedMs[c]! / sloMs[c]!)),
  )
  gauge(
    'expected_first_response_ms',
    'First response of a request that arrived now, ms after its arrival. Total: the longest.',
    (values) => Math.max(...values),
    (c) => sample.expectedMs[c]!,
  )
  gauge('waiting', 'Requests that wait for the shared stage.', sum, (c) => sample.waiting[c]!)
  gauge('lost', 'Those of them that can no longer meet their SLO.', sum, (c) => sample.lost[c]!)
  gauge(
    'in_shared_stage',
    'Requests that hold a slot of the shared stage.',
    sum,
    (c) => sample.inShared[c]!,
  )
  gauge(
    'in_flight',
    'Requests in the shared stage or a later one.',
    sum,
    (c) => sample.inFlight[c]!,
  )
  const sharedRate = sample.holdMs > 0 ? (1000 * sample.slots) / sample.holdMs : 0
  const longRate = sample.longStepMs > 0 ? 1000 / sample.longStepMs : 0
  gauge(
    'capacity_rate',
    'Requests/s that leave the stage which binds the class, when it is full; 0: not seen yet. Total: the shared stage.',
    () => sharedRate,
    (c) => (isLong[c] === 1 ? longRate : sharedRate),
  )
  out.push(
    '# HELP horizonserve_slots Slots of the shared stage.',
    '# TYPE horizonserve_slots gauge',
  )
  out.push(`horizonserve_slots ${sample.slots}`)
  return `${out.join('\n')}\n`
}

function escaped(label: string): string {
  return label.replace(/[\\"\n]/g, '_')
}
