/**
 * @module
 * Percentiles by nearest rank: always a value that was observed.
 */

/** The smallest value that at least a share `level` of the sorted values does not exceed; NaN of nothing. */
export function percentile(sorted: ArrayLike<number>, level: number): number {
  if (sorted.length === 0) return Number.NaN
  const rank = Math.min(sorted.length, Math.max(1, Math.ceil(level * sorted.length)))
  return sorted[rank - 1] as number
}
