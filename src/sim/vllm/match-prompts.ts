/**
 * @module
 * Finds the prompts of one run among those of another. Two models asked the same conversations, in the same order, see the same prompts cut
 * by different tokenizers, and each run left out a few; an alignment of the two lists of lengths pairs them.
 */

/** What leaving a prompt unpaired costs, in units of the logarithm of a length ratio: worth it beyond 27 % for the pair. */
const SKIP = 0.12

/** Per prompt of `target`, the index of its counterpart in `source`, or -1. Order is kept. */
export function matchPrompts(source: ArrayLike<number>, target: ArrayLike<number>): Int32Array {
  const rows = source.length + 1
  const columns = target.length + 1
  const cost = new Float64Array(rows * columns)
  const move = new Uint8Array(rows * columns)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      if (i === 0 && j === 0) continue
      const cell = i * columns + j
      let best = Infinity
      if (i > 0 && j > 0) {
        const ratio = Math.log((source[i - 1] as number) / (target[j - 1] as number))
        best = (cost[cell - columns - 1] as number) + Math.abs(ratio)
        move[cell] = 1
      }
      if (i > 0 && (cost[cell - columns] as number) + SKIP < best) {
        best = (cost[cell - columns] as number) + SKIP
        move[cell] = 2
      }
      if (j > 0 && (cost[cell - 1] as number) + SKIP < best) {
        best = (cost[cell - 1] as number) + SKIP
        move[cell] = 3
      }
      cost[cell] = best
    }
  }
  const pairs = new Int32Array(target.length).fill(-1)
  for (let i = rows - 1, j = columns - 1; i > 0 || j > 0; ) {
    const step = move[i * columns + j]
    if (step !== 2) j--
    if (step !== 3) i--
    if (step === 1) pairs[j] = i
  }
  return pairs
}
