/**
 * @module
 * Linear least squares that a tenth of gross outliers cannot bend: iteratively reweighted with Tukey's biweight. Small and dense: a handful of
 * unknowns, hundreds of rows.
 */

/** How many scaled median deviations away a row counts for nothing (95 % efficiency under normal errors). */
const CUTOFF = 4.685

/** Coefficients of `y ≈ Σ coefficient · row[j]`; columns without any spread get 0. */
export function robustFit(rows: readonly (readonly number[])[], y: readonly number[]): number[] {
  const unknowns = rows[0]?.length ?? 0
  let weights: Float64Array = new Float64Array(rows.length).fill(1)
  let solution = solve(rows, y, weights, unknowns)
  for (let round = 0; round < 30; round++) {
    const residuals = rows.map((row, i) => (y[i] as number) - dot(row, solution))
    const scale = median(residuals.map(Math.abs)) / 0.6745
    if (!(scale > 0)) break
    weights = Float64Array.from(residuals, (residual) => {
      const t = residual / (CUTOFF * scale)
      return Math.abs(t) < 1 ? (1 - t * t) ** 2 : 0
    })
    solution = solve(rows, y, weights, unknowns)
  }
  return solution
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

function dot(row: readonly number[], solution: readonly number[]): number {
  let sum = 0
  for (let j = 0; j < row.length; j++) sum += (row[j] as number) * (solution[j] as number)
  return sum
}

/** Normal equations, columns scaled to unit length, by elimination with pivots. */
function solve(
  rows: readonly (readonly number[])[],
  y: readonly number[],
  weights: Float64Array<ArrayBufferLike>,
  n: number,
): number[] {
  const scale = Array.from({ length: n }, (_, j) =>
    Math.sqrt(rows.reduce((sum, row) => sum + (row[j] as number) ** 2, 0)),
  )
  const a: Float64Array[] = Array.from({ length: n }, () => new Float64Array(n + 1))
  rows.forEach((row, i) => {
    for (let j = 0; j < n; j++) {
      if (scale[j] === 0) continue
      const left = ((row[j] as number) / (scale[j] as number)) * (weights[i] as number)
      const target = a[j] as Float64Array
      for (let k = 0; k < n; k++)
        if (scale[k] !== 0)
          target[k] = (target[k] as number) + left * ((row[k] as number) / (scale[k] as number))
      target[n] = (target[n] as number) + left * (y[i] as number)
    }
  })
  for (let column = 0; column < n; column++) {
    let pivot = column
    for (let row = column + 1; row < n; row++)
      if (Math.abs(a[row]?.[column] as number) > Math.abs(a[pivot]?.[column] as number)) pivot = row
    const top = a[pivot] as Float64Array
    a[pivot] = a[column] as Float64Array
    a[column] = top
    if (Math.abs(top[column] as number) < 1e-12) continue
    for (let row = 0; row < n; row++) {
      if (row === column) continue
      const other = a[row] as Float64Array
      const factor = (other[column] as number) / (top[column] as number)
      for (let k = column; k <= n; k++)
        other[k] = (other[k] as number) - factor * (top[k] as number)
    }
  }
  return Array.from({ length: n }, (_, j) => {
    const pivot = a[j]?.[j] as number
    if (scale[j] === 0 || Math.abs(pivot) < 1e-12) return 0
    return (a[j]?.[n] as number) / pivot / (scale[j] as number)
  })
}
