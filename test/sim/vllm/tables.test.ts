import { describe, expect, it } from 'vitest'
import { createAttentionTable } from '../../../src/sim/vllm/attention-table.js'
import { parseCsv } from '../../../src/sim/vllm/csv.js'
import { createCurve } from '../../../src/sim/vllm/curve.js'
import { createMoeTable, expectedAwake } from '../../../src/sim/vllm/moe-table.js'
import { createSkewTable } from '../../../src/sim/vllm/skew-table.js'

describe('csv', () => {
  const columns = { numbers: ['tokens'], texts: ['layer'] }

  it('reads columns by name, in any order, with others between', () => {
    const csv = parseCsv('x,tokens,layer\n1,2,a\n3,4.5,b\n\n', 'f.csv', columns)
    expect([...csv.number('tokens')]).toEqual([2, 4.5])
    expect(csv.text('layer')).toEqual(['a', 'b'])
  })

  it('names file, line and column of what is wrong', () => {
    expect(() => parseCsv('layer\na', 'f.csv', columns)).toThrow(/f\.csv:1.*tokens/)
    expect(() => parseCsv('layer,tokens\na,1\nb,x', 'f.csv', columns)).toThrow(/f\.csv:3 tokens/)
    expect(() => parseCsv('layer,tokens\na', 'f.csv', columns)).toThrow(/f\.csv:2 tokens/)
    expect(() => parseCsv('layer,tokens\na,Infinity', 'f.csv', columns)).toThrow(/finite/)
  })
})

describe('curve', () => {
  const curve = createCurve([10, 1, 4], [30, 3, 6], 'c')

  it('is linear between points, flat below them, and goes on beyond', () => {
    expect([0, 1, 2.5, 4, 7, 10, 13].map((x) => curve.at(x))).toEqual([3, 3, 4.5, 6, 18, 30, 42])
  })

  it('steps up to the next point for kernels that work in tiles', () => {
    expect([0.5, 1, 1.1, 4, 4.1, 10, 13].map((x) => curve.ceil(x))).toEqual([
      3, 3, 6, 6, 30, 30, 42,
    ])
  })

  it('needs a point', () => {
    expect(() => createCurve([], [], 'dense.csv qkv')).toThrow(/dense.csv qkv/)
  })
})

describe('attention table', () => {
  const columns = {
    numbers: ['prefill_chunk', 'kv_prefill', 'n_decode', 'kv_decode', 'time_us'],
    texts: [],
  }
  const header = `${columns.numbers.join(',')}\n`
  // Decode alone costs n * kv / 100, prefill chunk + kv / 10; mixed is 1000 dearer, and has no long contexts at n = 4.
  const rows: string[] = []
  for (const n of [1, 2, 4])
    for (const kv of [16, 64]) rows.push(`0,0,${n},${kv},${(n * kv) / 100}`)
  for (const chunk of [16, 32])
    for (const kv of [0, 100]) rows.push(`${chunk},${kv},0,0,${chunk + kv / 10}`)
  for (const chunk of [16, 32])
    for (const past of [0, 100])
      for (const n of [1, 4])
        for (const kv of n === 4 ? [16] : [16, 64])
          rows.push(`${chunk},${past},${n},${kv},${1000 + chunk + past / 10 + (n * kv) / 100}`)
  const table = createAttentionTable(parseCsv(header + rows.join('\n'), 'a.csv', columns), 'a.csv')

  it('gives back every measured point', () => {
    for (const row of rows) {
      const [chunk, past, n, kv, us] = row.split(',').map(Number) as number[]
      expect(table.at(chunk!, past!, n!, kv!)).toBeCloseTo(us!, 10)
    }
  })

  it('is linear between points and never crosses from decode to mixed batches', () => {
    expect(table.at(0, 0, 3, 40)).toBeCloseTo(1.2, 10)
    expect(table.at(24, 50, 0, 0)).toBeCloseTo(29, 10)
    expect(table.at(24, 50, 1, 40)).toBeCloseTo(1029.4, 10)
    // One prompt token beside decodes is a mixed batch, priced at the smallest chunk measured.
    expect(table.at(1, 0, 1, 16)).toBeCloseTo(1016.16, 10)
    expect(table.at(0, 0, 0, 0)).toBe(0)
  })

  it('wants all three kinds of batch', () => {
    expect(() =>
      createAttentionTable(parseCsv(`${header}0,0,1,16,9`, 'a.csv', columns), 'a.csv'),
    ).toThrow(/a\.csv.*1, 0, 0/)
  })
})

describe('skew table', () => {
  const columns = { numbers: ['pc', 'alpha'], texts: ['n_label', 'skew_rate_label'] }
  const text = [
    'pc,n_label,skew_rate_label,alpha',
    '0,n<=64,sr<=5%,0.1',
    '0,n<=64,sr<=5%,0.3',
    '0,n<=128,sr<=5%,0.06',
    '0,n<=128,sr>70%,0.5',
    '16,n<=64,sr<=5%,99',
    '0,n>256,sr<=5%,77',
  ].join('\n')
  const table = createSkewTable(parseCsv(text, 's.csv', columns), 's.csv')

  it('averages a bucket, interpolates over batch size and share, and leaves mixed rows out', () => {
    expect(table.alpha(64, 0.025)).toBeCloseTo(0.2, 12)
    expect(table.alpha(128, 0.025)).toBeCloseTo(0.06, 12)
    expect(table.alpha(Math.sqrt(64 * 128), 0.025)).toBeCloseTo(0.13, 12)
    expect(table.alpha(128, 0.85)).toBeCloseTo(0.5, 12)
    expect(table.alpha(8, 0.025)).toBeCloseTo(0.2, 12)
    expect(table.alpha(500, 0.025)).toBeCloseTo(0.06, 12)
  })

  it('is nothing where no table is', () => {
    expect(
      createSkewTable(parseCsv(text.split('\n')[0]!, 's.csv', columns), 's').alpha(9, 0.5),
    ).toBe(0)
  })
})

describe('experts', () => {
  it('interpolates over tokens and experts woken', () => {
    const columns = { numbers: ['tokens', 'activated_experts', 'time_us'], texts: [] }
    const text = 'tokens,activated_experts,time_us\n1,8,10\n4,8,16\n4,32,40'
    const table = createMoeTable(parseCsv(text, 'm.csv', columns), 'm.csv')
    expect(table.at(1, 8)).toBe(10)
    expect(table.at(4, 20)).toBe(28)
    expect(table.at(2.5, 8)).toBe(13)
    expect(table.at(0.5, 4)).toBe(10)
  })

  it('wakes all experts in the long run and as many as one token visits at first', () => {
    expect(expectedAwake(128, 8, 1)).toBeCloseTo(8, 12)
    expect(expectedAwake(128, 8, 2)).toBeCloseTo(15.5, 12)
    expect(expectedAwake(128, 8, 4096)).toBeCloseTo(128, 9)
  })
})
