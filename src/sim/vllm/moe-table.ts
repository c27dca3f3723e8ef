/**
 * @module
 * Time of a layer's experts, measured for a number of tokens, each visiting its experts, with a number of experts woken in all.
 * Linear in both between the points of the grid.
 */
import type { CsvTable } from './csv.js'
import { type Curve, createCurve, segmentOf } from './curve.js'

export interface MoeTable {
  /** Microseconds per layer for `tokens` tokens that wake `activated` experts between them. */
  at(tokens: number, activated: number): number
}

export function createMoeTable(csv: CsvTable, file: string): MoeTable {
  const tokens = csv.number('tokens')
  const activated = csv.number('activated_experts')
  const time = csv.number('time_us')
  const groups = new Map<number, { x: number[]; y: number[] }>()
  for (let row = 0; row < csv.rows; row++) {
    const key = tokens[row] as number
    const group = groups.get(key) ?? { x: [], y: [] }
    group.x.push(activated[row] as number)
    group.y.push(time[row] as number)
    groups.set(key, group)
  }
  const sorted = [...groups].sort((a, b) => a[0] - b[0])
  const axis = Float64Array.from(sorted, (entry) => entry[0])
  const curves: Curve[] = sorted.map(([key, group]) =>
    createCurve(group.x, group.y, `${file} tokens=${key}`),
  )
  const last = axis.length - 1
  return {
    at(count, awake) {
      if (last <= 0 || count <= (axis[0] as number)) return (curves[0] as Curve).at(awake)
      const i = segmentOf(axis, last, count)
      const x0 = axis[i] as number
      const share = (count - x0) / ((axis[i + 1] as number) - x0)
      const low = (curves[i] as Curve).at(awake)
      return low + share * ((curves[i + 1] as Curve).at(awake) - low)
    },
  }
}

/** Expected number of `experts` that at least one of `tokens` tokens visits, each choosing `perToken` at random. */
export function expectedAwake(experts: number, perToken: number, tokens: number): number {
  return experts * (1 - (1 - perToken / experts) ** tokens)
}
