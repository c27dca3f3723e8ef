/**
 * @module
 * Attention kernel times per layer, measured for batches of one prefill chunk (with its history) and `n` decodes of equal context.
 * The grid is not rectangular (large contexts do not fit for large batches), so it is a tree of axes, interpolated level by level.
 * Decode-only batches and mixed ones run different kernels: nothing is interpolated across that border.
 */
import { HorizonError } from '../../core/errors.js'
import type { CsvTable } from './csv.js'
import { segmentOf } from './curve.js'

export interface AttentionTable {
  /**
   * Microseconds per layer for one prefill chunk of `chunk` tokens (0: none) after `history` tokens of context, together with
   * `decodes` sequences whose contexts all hold `context` tokens.
   */
  at(chunk: number, history: number, decodes: number, context: number): number
}

interface Axis {
  readonly x: Float64Array
  readonly next: readonly (Axis | number)[]
}

export function createAttentionTable(csv: CsvTable, file: string): AttentionTable {
  const chunk = csv.number('prefill_chunk')
  const history = csv.number('kv_prefill')
  const decodes = csv.number('n_decode')
  const context = csv.number('kv_decode')
  const time = csv.number('time_us')
  const rows = Array.from({ length: csv.rows }, (_, row) => row)
  const decodeOnly = rows.filter((row) => chunk[row] === 0)
  const prefillOnly = rows.filter((row) => chunk[row] !== 0 && decodes[row] === 0)
  const mixed = rows.filter((row) => chunk[row] !== 0 && decodes[row] !== 0)
  if (decodeOnly.length === 0 || prefillOnly.length === 0 || mixed.length === 0) {
    throw new HorizonError('ERR_SIM_TABLE', 'the attention table has gaps', {
      field: file,
      expected: 'rows of decode alone, prefill alone, and both together',
      got: `${decodeOnly.length}, ${prefillOnly.length}, ${mixed.length}`,
    })
  }
  const decodeTree = treeOf(decodeOnly, [decodes, context], time)
  const prefillTree = treeOf(prefillOnly, [chunk, history], time)
  const mixedTree = treeOf(mixed, [chunk, decodes, history, context], time)
  const query = new Float64Array(4)
  return {
    at(chunkTokens, historyTokens, decodeCount, contextTokens) {
      if (chunkTokens <= 0) {
        if (decodeCount <= 0) return 0
        query[0] = decodeCount
        query[1] = contextTokens
        return interpolate(decodeTree, query, 0)
      }
      query[0] = chunkTokens
      if (decodeCount <= 0) {
        query[1] = historyTokens
        return interpolate(prefillTree, query, 0)
      }
      query[1] = decodeCount
      query[2] = historyTokens
      query[3] = contextTokens
      return interpolate(mixedTree, query, 0)
    },
  }
}

function treeOf(
  rows: readonly number[],
  columns: readonly Float64Array[],
  time: Float64Array,
): Axis {
  const [column, ...rest] = columns
  const groups = new Map<number, number[]>()
  for (const row of rows) {
    const key = (column as Float64Array)[row] as number
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  const sorted = [...groups].sort((a, b) => a[0] - b[0])
  return {
    x: Float64Array.from(sorted, (entry) => entry[0]),
    next: sorted.map(([, group]) =>
      rest.length === 0
        ? (time[group[group.length - 1] as number] as number)
        : treeOf(group, rest, time),
    ),
  }
}

function interpolate(axis: Axis | number, query: Float64Array, level: number): number {
  if (typeof axis === 'number') return axis
  const { x, next } = axis
  const last = x.length - 1
  const value = query[level] as number
  if (last === 0 || value <= (x[0] as number)) return interpolate(next[0] as Axis, query, level + 1)
  const i = segmentOf(x, last, value)
  const x0 = x[i] as number
  const share = (value - x0) / ((x[i + 1] as number) - x0)
  const low = interpolate(next[i] as Axis, query, level + 1)
  if (share === 0) return low
  return low + share * (interpolate(next[i + 1] as Axis, query, level + 1) - low)
}
