/**
 * @module
 * The Mooncake traces: JSON lines `{"timestamp": ms, "input_length", "output_length", "hash_ids"}`. Their clock ticks every three
 * seconds: 90 % of the gaps are zero. Replayed as they stand they are bursts that nobody sent, so each batch is spread evenly at
 * random over its own three seconds (seeded; order kept). Prefix sharing (`hash_ids`) is not modelled. Qin et al., FAST 2025.
 *
 * Others write the same names with seconds: a file whose clock does not tick that way is not spread, and one whose times look like
 * seconds brings a warning.
 */
import { createRng } from '../rng.js'
import { lengthsOf, parseRecord } from './parse-record.js'
import type { TraceFormat } from './trace.js'

/** Length of one tick of the trace's clock, in milliseconds (a few ticks of the public file are 2,999). */
const BATCH_MS = 3000

/** More requests per second than any public trace of this form has. */
const DOUBTFUL_RATE = 50

export const mooncake: TraceFormat = {
  name: 'mooncake',
  notes: [
    'trace under the field names of Mooncake (Qin et al., FAST 2025); prefix reuse not modelled',
  ],
  takesUnit: true,
  matches: (firstLine) => firstLine.startsWith('{') && /"input_length"\s*:/.test(firstLine),
  start(_firstLine, unit) {
    const toMs = unit === 's' ? 1000 : 1
    let spread = false
    let hasFractions = false
    return {
      hasHeader: false,
      parse(line) {
        const row = parseRecord(line)
        if (typeof row === 'string') return row
        const lengths = lengthsOf(row)
        if (typeof lengths === 'string') return lengths
        // 1234500.0 is a whole number to JSON, but whoever wrote it meant seconds.
        hasFractions ||= /"timestamp"\s*:\s*-?\d+\.\d/.test(line)
        return { ...lengths, timeMs: lengths.timestamp * toMs }
      },
      notes: () => (spread ? ['3 s batches are spread evenly at random over their own 3 s'] : []),
      doubts(arrivalMs) {
        spread = unit !== 's' && !hasFractions && ticks(arrivalMs)
        if (unit !== undefined) return []
        const seconds = (arrivalMs.at(-1) as number) / 1000
        const rate = (arrivalMs.length - 1) / seconds
        const what = hasFractions
          ? 'times have fractions, as times in seconds do'
          : rate > DOUBTFUL_RATE
            ? `${rate.toFixed(0)} requests per second, as times in seconds would give`
            : undefined
        return what === undefined
          ? []
          : [`${what}, but were read as milliseconds: say which with --time-unit s or ms`]
      },
      mend(arrivalMs, seed) {
        if (spread) spreadBatches(arrivalMs, seed)
      },
    }
  },
}

/** Whether requests stand in batches, one tick apart as a rule. */
function ticks(arrivalMs: Float64Array): boolean {
  const gaps: number[] = []
  for (let i = 1; i < arrivalMs.length; i++) {
    const gap = (arrivalMs[i] as number) - (arrivalMs[i - 1] as number)
    if (gap > 0) gaps.push(gap)
  }
  const middle = gaps.sort((a, b) => a - b)[gaps.length >> 1]
  return middle === undefined
    ? arrivalMs.length > 1
    : middle % BATCH_MS === 0 || Math.abs(middle - BATCH_MS) <= 2
}

function spreadBatches(arrivalMs: Float64Array, seed: number): void {
  const rng = createRng(seed).fork('mooncake-batches')
  let first = 0
  while (first < arrivalMs.length) {
    const start = arrivalMs[first] as number
    let end = first
    while (end < arrivalMs.length && arrivalMs[end] === start) end++
    // A batch ends where the next begins: a short tick must not overlap it.
    const span = Math.min(BATCH_MS, (arrivalMs[end] ?? Infinity) - start)
    const batch = arrivalMs.subarray(first, end)
    for (let i = 0; i < batch.length; i++) batch[i] = start + rng.next() * span
    batch.sort()
    first = end
  }
}
