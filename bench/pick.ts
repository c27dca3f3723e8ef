/**
 * @module
 * What does it cost to decide which endpoint a request goes to? Rows under `pickNs`, by the number of endpoints: one application of the
 * endpoint rule to the book of a picker.
 */
import { runApart } from './apart.js'
import type { Bench, Spread } from './bench.js'

export const bench: Bench = {
  name: 'pick',
  question: 'what does a pick cost among 8, 64 and 512 endpoints?',
  async run(context) {
    const pickNs: Record<string, Pick<Spread, 'p50' | 'p99'>> = {}
    for (const size of [8, 64, 512]) {
      const { p50, p99 } = runApart<Spread>('pick-at-size', [String(size)], context)
      pickNs[size] = { p50, p99 }
    }
    return { pickNs }
  },
}
