/**
 * @module
 * Lemma 8.1: chunk k of batch j is shown at d0 + j T + k Delta, so the smallest offset that never stalls is
 * d0* = sup over (j, k) of Y(j, k) - j T - k Delta, with Y the moment the chunk is ready.
 */

/** `readyMs[j][k]` is Y(j, k) in ms; every batch has the same number of chunks. */
export function displayOffset(readyMs: readonly (readonly number[])[], periodMs: number): number {
  let offset = Number.NEGATIVE_INFINITY
  readyMs.forEach((chunks, j) => {
    const delta = periodMs / chunks.length
    chunks.forEach((ready, k) => {
      offset = Math.max(offset, ready - j * periodMs - k * delta)
    })
  })
  return offset
}

/** Whether a display that starts at offset `d0` always finds its chunk ready. */
export function displayFeasible(
  readyMs: readonly (readonly number[])[],
  periodMs: number,
  d0Ms: number,
): boolean {
  return readyMs.every((chunks, j) =>
    chunks.every((ready, k) => ready <= d0Ms + j * periodMs + (k * periodMs) / chunks.length),
  )
}
