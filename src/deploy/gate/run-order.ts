/**
 * @module
 * The order of runs in a stage: pairs one after another (interleaved, so that drift meets both sides alike), and within each
 * pair a fair coin says which side goes first. The coins are independent on purpose: balanced blocks would look tidier, and
 * would break the exactness that the tests rest on.
 */
import { seededRandom } from '../seeded-random.js'

export type Side = 'baseline' | 'candidate'

/** One run to do. */
export interface PlannedRun {
  readonly pair: number
  readonly side: Side
}

/** All runs of a stage of `pairs` pairs, in the order to do them. */
export function runOrder(pairs: number, seed: string | number): readonly PlannedRun[] {
  const random = seededRandom(`order/${seed}`)
  return Array.from({ length: pairs }, (_, pair) => {
    const first: Side = random.coin() ? 'baseline' : 'candidate'
    const second: Side = first === 'baseline' ? 'candidate' : 'baseline'
    return [
      { pair, side: first },
      { pair, side: second },
    ]
  }).flat()
}
