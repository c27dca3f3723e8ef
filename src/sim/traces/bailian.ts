/**
 * @module
 * The Qwen-Bailian usage traces: the names of Mooncake with `chat_id`, `parent_chat_id`, `type` and `turn`, and times in seconds.
 * `type` is reported and not modelled: the trace says nothing of media. Wang et al., ATC 2025.
 */
import { excerpt } from './excerpt.js'
import { lengthsOf, parseRecord } from './parse-record.js'
import type { TraceFormat } from './trace.js'

/** Types beyond this many are not told apart. */
const MAX_TYPES = 16

export const bailian: TraceFormat = {
  name: 'bailian',
  notes: [
    'Qwen-Bailian trace (Wang et al., ATC 2025), in seconds; turns and prefix reuse not modelled',
  ],
  takesUnit: true,
  matches: (firstLine) =>
    firstLine.startsWith('{') &&
    /"chat_id"\s*:/.test(firstLine) &&
    /"input_length"\s*:/.test(firstLine),
  start(_firstLine, unit = 's') {
    const toMs = unit === 's' ? 1000 : 1
    const types = new Map<string, number>()
    return {
      hasHeader: false,
      parse(line) {
        const row = parseRecord(line)
        if (typeof row === 'string') return row
        const lengths = lengthsOf(row)
        if (typeof lengths === 'string') return lengths
        if (row.type !== undefined) {
          const type = excerpt(String(row.type))
          const known = types.has(type) || types.size < MAX_TYPES ? type : 'other'
          types.set(known, (types.get(known) ?? 0) + 1)
        }
        return { ...lengths, timeMs: lengths.timestamp * toMs }
      },
      notes: () =>
        types.size === 0
          ? []
          : [
              `types in the trace: ${[...types].map(([type, n]) => `${type} ${n}`).join(', ')}; read as text, not modelled`,
            ],
    }
  },
}
