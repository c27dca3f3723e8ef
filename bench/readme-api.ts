/**
 * @module
 * What does the README's way of calling cost: object literals, string ids, `for … of` over the view? Rows under `readmeApi`.
 */
import { runApart } from './apart.js'
import type { Bench, Spread } from './bench.js'

export const bench: Bench = {
  name: 'readme-api',
  question: 'what does the README-style API cost?',
  async run(context) {
    const decideNs: Record<string, unknown> = {}
    const updateNs: Record<string, unknown> = {}
    for (const size of [64, 1024, 65_536]) {
      const rows = runApart<Record<'decide' | 'update', Spread>>(
        'readme-api-at-size',
        [String(size)],
        context,
      )
      decideNs[size] = rows.decide
      updateNs[size] = rows.update
    }
    return { readmeApi: { decideNs, updateNs } }
  },
}
