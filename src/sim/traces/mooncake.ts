/**
 * @module
 * The Mooncake traces: JSON lines `{"timestamp": ms, "input_length", "output_length", "hash_ids"}`. Their clock ticks every three
 * seconds: 90 % of the gaps are zero. Replayed as they stand they are bursts that nobody sent, so each batch is spread evenly at
 * random over its own three seconds (seeded; order kept). Prefix sharing (`hash_ids`) is not modelled. Qin et al., FAST 2025.
 */
import { createRng } from '../rng.js'
import { parseRecord } from './parse-record.js'
import type { TraceFormat } from './trace.js'

/** Length of one tick of the trace's clock, in milliseconds (a few ticks of the public file are 2,999). */
const BATCH_MS = 3000

export const mooncake: TraceFormat = {
  name: 'mooncake',
  notes: [
    'Mooncake trace (Qin et al., FAST 2025), Apache-2.0; its 3 s batches are spread evenly at random; prefix reuse not modelled',
  ],
  matches: (firstLine) => firstLine.startsWith('{') && firstLine.includes('"input_length"'),
  start: () => ({
    hasHeader: false,
    parse(line) {
      const row = parseRecord(line)
      if (typeof row === 'string') return row
      const { timestamp, input_length: promptTokens, output_length: outputTokens } = row
      if (typeof timestamp !== 'number') return 'timestamp must be a number of milliseconds'
      if (typeof promptTokens !== 'number') return 'input_length must be a number of tokens'
      if (typeof outputTokens !== 'number') return 'output_length must be a number of tokens'
      return { timeMs: timestamp, promptTokens, outputTokens }
    },
  }),
  mend(arrivalMs, seed) {
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
  },
}
