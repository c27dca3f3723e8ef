import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isHorizonError } from '../../../src/core/errors.js'
import { parseTrace } from '../../../src/sim/traces/read-trace.js'
import { readTrace } from '../../../src/sim/traces/read-trace-file.js'

const shared = '../shared/traces'
const missing = existsSync(shared) ? false : 'the shared trace folder is not here'

function failure(run: () => unknown): { code: string; message: string } {
  try {
    run()
  } catch (error) {
    if (isHorizonError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('expected an error')
}

const AZURE = [
  'TIMESTAMP,ContextTokens,GeneratedTokens',
  '2023-11-16 18:15:46.6805900,374,44',
  '2023-11-16 18:15:50.9951690,396,109',
  '2023-11-17 00:00:00.0000000,1,1',
]

test('an Azure trace counts its times from the first request and keeps its seven decimals', () => {
  const trace = parseTrace(AZURE.join('\r\n'), 'a.csv')
  expect(trace.format).toBe('azure')
  expect(trace.size).toBe(3)
  expect(trace.arrivalMs[0]).toBe(0)
  expect(trace.arrivalMs[1]).toBeCloseTo(4314.579, 3)
  expect([...trace.promptTokens]).toEqual([374, 396, 1])
  expect([...trace.outputTokens]).toEqual([44, 109, 1])
})

test.each([
  ['2023-02-31 18:15:51.0000000,1,1', 'not a time'],
  ['2023-11-16 25:15:51.0000000,1,1', 'not a time'],
  ['2023-11-16 18:15:51.0000000,1', 'expected 3 columns'],
  ['2023-11-16 18:15:51.0000000,,1', 'prompt tokens'],
  ['2023-11-16 18:15:51.0000000,1.5,1', 'prompt tokens'],
  ['2023-11-16 18:15:51.0000000,-4,1', 'prompt tokens'],
  ['2023-11-16 18:15:51.0000000,0x10,1', 'prompt tokens'],
  ['2023-11-16 18:15:51.0000000,1,99999999999', 'output tokens'],
  ['2023-11-16 18:15:46.0000000,1,1', 'the clock goes back'],
])('a broken Azure line is named: %s', (line, why) => {
  const lines = [AZURE[0], AZURE[1], line, AZURE[3]].join('\n')
  const error = failure(() => parseTrace(lines, 'a.csv'))
  expect(error.code).toBe('ERR_SIM_TRACE_LINE')
  expect(error.message).toContain('a.csv, line 3')
  expect(error.message).toContain(why)
  const trace = parseTrace(lines, 'a.csv', { skipBad: true })
  expect([trace.size, trace.skipped]).toEqual([2, 1])
})

test('Mooncake batches are spread over their own tick, in order, the same for the same seed', () => {
  const line = (t: number): string =>
    `{"timestamp": ${t}, "input_length": 10, "output_length": 2, "hash_ids": [0]}`
  const text = [0, 0, 0, 3000, 3000, 5999, 9000].map(line).join('\n')
  const a = parseTrace(text, 'm.jsonl', { seed: 7 })
  const b = parseTrace(text, 'm.jsonl', { seed: 7 })
  const c = parseTrace(text, 'm.jsonl', { seed: 8 })
  expect([...a.arrivalMs]).toEqual([...b.arrivalMs])
  expect([...a.arrivalMs]).not.toEqual([...c.arrivalMs])
  expect([...a.arrivalMs]).toEqual([...a.arrivalMs].sort((x, y) => x - y))
  expect(Math.floor((a.arrivalMs[2] as number) / 3000)).toBe(0)
  expect(a.arrivalMs[4] as number).toBeLessThan(5999)
  expect(new Set(a.arrivalMs).size).toBe(7)
})

test('plain CSV takes its columns in any order, with classes and media', () => {
  const trace = parseTrace(
    'class,prompt_tokens,arrival_s,output_tokens,audio_seconds,images\na2a,10,1.5,3,7.25,\n,11,2,4,,2\n',
    'p.csv',
  )
  expect([...trace.arrivalMs]).toEqual([0, 500])
  expect(trace.classNames).toEqual(['a2a', undefined])
  expect([...trace.audioSeconds]).toEqual([7.25, 0])
  expect([...trace.images]).toEqual([0, 2])
})

test('plain JSON lines take snake or camel case and refuse unknown fields', () => {
  const good =
    '{"arrivalMs":0,"promptTokens":5,"outputTokens":1,"class":"t2t"}\n{"arrival_ms":4,"prompt_tokens":5,"output_tokens":1}'
  expect(parseTrace(good, 'p.jsonl').size).toBe(2)
  const error = failure(() =>
    parseTrace(`${good}\n{"arrivalMs":5,"promptTokens":5,"outputTokens":1,"promt":2}`, 'p.jsonl'),
  )
  expect(error.message).toContain('line 3')
  expect(error.message).toContain('promt')
})

test.each([
  ['', 'not a trace this reader knows'],
  ['hello\nworld', 'not a trace this reader knows'],
  ['arrival_ms,prompt_tokens\n1,2', 'output_tokens: a column is missing'],
  ['arrival_ms,prompt_tokens,output_tokens,colour\n1,2,3,4', 'colour'],
  ['TIMESTAMP,ContextTokens,GeneratedTokens\n', 'has no requests'],
])('a file that is no trace is refused: %j', (text, why) => {
  const error = failure(() => parseTrace(text, 'x'))
  expect(error.code).toBe('ERR_SIM_TRACE_FORMAT')
  expect(error.message).toContain(why)
})

test('a file that is not there is a clear error', () => {
  expect(failure(() => readTrace('no/such/file.csv')).code).toBe('ERR_SIM_TRACE_FILE')
})

test.skipIf(missing)(
  'the shared traces have the published shape (skipped without ../shared)',
  () => {
    const code = readTrace(`${shared}/AzureLLMInferenceTrace_code.csv`)
    const conv = readTrace(`${shared}/AzureLLMInferenceTrace_conv.csv`)
    const chat = readTrace(`${shared}/mooncake_conversation_trace.jsonl`)
    expect([code.size, conv.size, chat.size]).toEqual([8819, 19366, 12031])
    const rate = (n: number, last: number | undefined): number => (n / (last ?? 1)) * 1000
    expect(rate(code.size, code.arrivalMs.at(-1))).toBeCloseTo(2.57, 1)
    expect(rate(conv.size, conv.arrivalMs.at(-1))).toBeCloseTo(5.53, 1)
    expect(rate(chat.size, chat.arrivalMs.at(-1))).toBeCloseTo(3.4, 1)
  },
)
