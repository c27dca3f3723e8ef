/**
 * @module
 * A small dense simplex: maximise c x with A x <= b, x >= 0, where b >= 0. For a few dozen variables and a few hundred
 * rows. The right sides are shaken a little so that ties do not make it turn in circles; callers check what they get.
 */

export interface Corner {
  /** The variables. */
  readonly x: readonly number[]
  /** Per row, what one more of its right side would add: the other side of the program. */
  readonly rowWorth: readonly number[]
}

/** An optimum, or the last corner after too many steps. */
export function maximise(
  goal: Float64Array,
  rows: readonly Float64Array[],
  limits: readonly number[],
): Corner {
  const width = goal.length
  const height = rows.length
  // Column `width` is the right side; slack columns are kept by swapping names, not written out.
  const table = rows.map((row, index) => {
    const line = new Float64Array(width + 1)
    line.set(row)
    line[width] = limits[index]! + 1e-7 * (1 + ((index * 7919) % 1009) / 1009)
    return line
  })
  const cost = new Float64Array(width + 1)
  cost.set(goal)
  // Names: 0 … width - 1 are variables, from `width` on slacks.
  const column = Array.from({ length: width }, (_, index) => index)
  const row = Array.from({ length: height }, (_, index) => width + index)
  for (let step = 0; step < 20 * (width + height); step += 1) {
    let enter = -1
    for (let index = 0; index < width; index += 1)
      if (cost[index]! > 1e-10 && (enter === -1 || cost[index]! > cost[enter]!)) enter = index
    if (enter === -1) break
    let leave = -1
    let least = Number.POSITIVE_INFINITY
    for (let index = 0; index < height; index += 1) {
      const pivot = table[index]![enter]!
      if (pivot <= 1e-10) continue
      const ratio = table[index]![width]! / pivot
      if (ratio < least) {
        least = ratio
        leave = index
      }
    }
    if (leave === -1) break
    pivotOn(table, cost, leave, enter)
    const name = column[enter]!
    column[enter] = row[leave]!
    row[leave] = name
  }
  const x = new Array<number>(width).fill(0)
  row.forEach((name, index) => {
    if (name < width) x[name] = Math.max(0, table[index]![width]!)
  })
  const rowWorth = new Array<number>(height).fill(0)
  column.forEach((name, index) => {
    if (name >= width) rowWorth[name - width] = Math.max(0, -cost[index]!)
  })
  return { x, rowWorth }
}

/** Exchanges the variable of a column with that of a row. */
function pivotOn(table: Float64Array[], cost: Float64Array, leave: number, enter: number): void {
  const line = table[leave]!
  const by = line[enter]!
  for (let index = 0; index < line.length; index += 1) line[index]! /= by
  line[enter] = 1 / by
  const clear = (other: Float64Array): void => {
    const factor = other[enter]!
    if (factor === 0) return
    for (let index = 0; index < line.length; index += 1)
      if (index !== enter) other[index]! -= factor * line[index]!
    other[enter] = -factor * line[enter]!
  }
  table.forEach((other, index) => {
    if (index !== leave) clear(other)
  })
  clear(cost)
}
