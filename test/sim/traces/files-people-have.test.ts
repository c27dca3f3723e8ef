import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, openSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { isHorizonError } from '../../../src/core/errors.js'
import { parseTrace, type ReadTraceOptions } from '../../../src/sim/traces/read-trace.js'
import { readTrace } from '../../../src/sim/traces/read-trace-file.js'
import type { Trace } from '../../../src/sim/traces/trace.js'

const folder = mkdtempSync(join(tmpdir(), 'horizonserve-traces-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function read(content: string | Uint8Array, options?: ReadTraceOptions): Trace {
  const path = join(folder, 'trace')
  writeFileSync(path, content)
  return readTrace(path, options)
}

function refusal(run: () => unknown): { code: string; message: string } {
  try {
    run()
  } catch (error) {
    if (isHorizonError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('expected an error')
}

const AZURE_2025 = [
  'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens',
  '2024-10-15T12:00:00.269Z,0,770,491',
  '2024-10-15T12:00:05.819Z,16,949,126',
].join('\n')

describe('units of time', () => {
  const row = (t: string, more = '') =>
    `{${more}"timestamp": ${t}, "input_length": 10, "output_length": 2}`
  const file = (...times: string[]) => times.map((t) => row(t)).join('\n')

  test('Bailian is known by chat_id, read in seconds, and its types are reported', () => {
    const text = [
      row('0.0', '"chat_id": 1, "type": "text", '),
      row('61.114', '"chat_id": 2, "type": "image", '),
      row('120.5', '"chat_id": 3, "type": "text", '),
    ].join('\n')
    const trace = parseTrace(text, 'b')
    expect(trace.format).toBe('bailian')
    expect([...trace.arrivalMs]).toEqual([0, 61_114, 120_500])
    expect(trace.notes.join()).toContain('text 2, image 1')
    expect([...parseTrace(text, 'b', { timeUnit: 'ms' }).arrivalMs]).toEqual([0, 61.114, 120.5])
  })

  test('the names of Mooncake with seconds bring a warning, are not spread, and take a unit', () => {
    for (const text of [file('1234500.0', '1234500.5'), file('7.0', '9.0')]) {
      const doubtful = parseTrace(text, 'g')
      expect(doubtful.warnings.join()).toContain('--time-unit')
      expect(doubtful.warnings).toEqual(parseTrace(text, 'g', { seed: 9 }).warnings)
      expect([...doubtful.arrivalMs]).toEqual([...parseTrace(text, 'g', { seed: 9 }).arrivalMs])
    }
    const trace = parseTrace(file('1234500.0', '1234500.5'), 'g', { timeUnit: 's' })
    expect([...trace.arrivalMs]).toEqual([0, 500])
    expect(trace.warnings).toEqual([])
  })

  test('whole stamps at an impossible rate bring the warning too; the ticks of Mooncake do not', () => {
    const dense = file(...Array.from({ length: 100 }, (_, i) => String(i)))
    expect(parseTrace(dense, 'g').warnings.join()).toContain('requests per second')
    const ticking = file(...Array.from({ length: 40 }, (_, i) => String((i >> 2) * 3000)))
    expect(parseTrace(ticking, 'm').warnings).toEqual([])
    expect(parseTrace(ticking, 'm').notes.join()).toContain('spread')
  })

  const plain = (...times: (string | number)[]) =>
    ['arrival_s,prompt_tokens,output_tokens', ...times.map((t) => `${t},1,1`)].join('\n')

  test('arrival_s in milliseconds is refused where it cannot be seconds, warned of where it may', () => {
    const error = refusal(() => parseTrace(plain(1_700_000_000_000, 1_700_000_001_000), 'p'))
    expect(error.message).toContain('arrival_ms')
    expect(parseTrace(plain(0, 1500, 2900), 'p').warnings.join()).toContain('arrival_ms')
    expect(parseTrace(plain(0, 1, 2), 'p').warnings).toEqual([])
    expect(parseTrace(plain('0.5', '100.25'), 'p').warnings).toEqual([])
    expect(refusal(() => parseTrace(plain(0), 'p', { timeUnit: 's' })).message).toContain(
      'no effect',
    )
  })
})

describe('dates', () => {
  const azure = (...times: string[]) =>
    ['TIMESTAMP,ContextTokens,GeneratedTokens', ...times.map((t) => `${t},5,5`)].join('\n')

  test('Azure 2024: a zone, with and without a fraction', () => {
    const trace = parseTrace(
      azure(
        '2024-05-10 00:00:00.009930+00:00',
        '2024-05-10 00:00:01+00:00',
        '2024-05-10 02:00:01.5+02:00',
      ),
      'a',
    )
    expect([...trace.arrivalMs].map((ms) => Math.round(ms * 100) / 100)).toEqual([
      0, 990.07, 1490.07,
    ])
  })

  test('a zone in some lines only is an error, an impossible one too', () => {
    const mixed = azure('2024-05-10 00:00:00Z', '2024-05-10 00:00:01')
    expect(refusal(() => parseTrace(mixed, 'a')).message).toContain('line 3')
    expect(refusal(() => parseTrace(azure('2024-05-10 00:00:00+19:00'), 'a')).code).toBe(
      'ERR_SIM_TRACE_LINE',
    )
  })

  test('Azure multimodal: images, from plain text and from gzip', () => {
    for (const content of [AZURE_2025, gzipSync(AZURE_2025)]) {
      const trace = read(content)
      expect([...trace.images]).toEqual([0, 16])
      expect([...trace.arrivalMs]).toEqual([0, 5550])
    }
  })
})

test.each([
  'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,A,472,18,490,C\n45,A,1087,0,1087,C\n118,B,417,276,693,API',
  'Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,a,1,A,472,18,490,C\n45,b,2,A,1087,0,1087,C\n118,c,3,B,417,276,693,API',
])('BurstGPT in seconds; failures are left out and counted', (text) => {
  const trace = parseTrace(text, 'b')
  expect([trace.size, trace.skipped]).toEqual([2, 0])
  expect([...trace.arrivalMs]).toEqual([0, 113_000])
  expect(trace.notes.join()).toContain('left out: 1')
})

describe('spreadsheets', () => {
  const HEADER = 'arrival_s,prompt_tokens,output_tokens'

  test('byte order mark, quotes, a comma inside them, blank lines', () => {
    const trace = read(
      '\ufeff"arrival_s","prompt_tokens","output_tokens","class"\r\n"0","100","10","chat"\r\n\r\n"1.5","200","20","speech, ""long"""\r\n',
    )
    expect([...trace.arrivalMs]).toEqual([0, 1500])
    expect(trace.classNames).toEqual(['chat', 'speech, "long"'])
    const open = `${HEADER}\n"0,1,1`
    expect(refusal(() => parseTrace(open, 'x')).message).toContain('a quote is not closed')
  })

  test('semicolons with decimal commas, and with points; thousands are not guessed', () => {
    const semi = (rows: string) => `${HEADER.replaceAll(',', ';')}\r\n${rows}\r\n`
    expect([...parseTrace(semi('0;100;10\r\n1,5;200;20'), 'd').arrivalMs]).toEqual([0, 1500])
    expect([...parseTrace(semi('0;100;10\r\n1.5;200;20'), 'd').arrivalMs]).toEqual([0, 1500])
    expect(refusal(() => parseTrace(semi('0;1.000;10'), 'd')).code).toBe('ERR_SIM_TRACE_LINE')
    expect(refusal(() => parseTrace(semi('0,5;1;1\r\n1.500;1;1'), 'd')).message).toContain('line 3')
  })

  test('tabs, CR alone, CRLF across pieces, UTF-16, no end of line at the end', () => {
    const lines = [HEADER, '0,100,10', '5,200,20']
    expect(parseTrace(lines.join('\r'), 'c').size).toBe(2)
    expect(parseTrace(lines.join('\n').replaceAll(',', '\t'), 'c').size).toBe(2)
    expect(read(Buffer.from(`\ufeff${lines.join('\r\n')}`, 'utf16le')).size).toBe(2)
  })

  test('whole numbers written with a fraction are whole', () => {
    expect([...parseTrace(`${HEADER}\n0,100.0,10`, 'f').promptTokens]).toEqual([100])
  })

  test('requests out of order: named, put in order on request, a warning when left out', () => {
    const text = `${HEADER}\n0,1,10\n2,2,10\n1,3,10\n1,4,10`
    const error = refusal(() => parseTrace(text, 'u'))
    expect(error.message).toContain('line 4')
    expect(error.message).toContain('--sort')
    const sorted = parseTrace(text, 'u', { sort: true })
    expect([...sorted.arrivalMs]).toEqual([0, 1000, 1000, 2000])
    expect([...sorted.promptTokens]).toEqual([1, 3, 4, 2])
    const thinned = parseTrace(text, 'u', { skipBad: true })
    expect(thinned.skipped).toBe(2)
    expect(thinned.warnings.join()).toContain('--sort')
    expect(parseTrace(text, 'u', { sort: true, requests: 2 }).size).toBe(2)
  })
})

describe('files that are not ours', () => {
  const zeros = new Uint8Array(600)
  test.each<[string, string | Uint8Array, string]>([
    ['parquet', Buffer.concat([Buffer.from('PAR1'), zeros]), 'Parquet'],
    ['zip', Buffer.concat([Buffer.from('PK\u0003\u0004'), zeros]), 'zip'],
    ['zstd', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 1, 2), 'zstd'],
    ['pickle', Uint8Array.of(0x80, 4, 0x95, 0, 0), 'pickle'],
    ['zeros', zeros, 'binary'],
    ['escapes', '\u001b[2J\u001b[31mred\u0007\u202e', 'binary'],
    ['noise', Uint8Array.from({ length: 300 }, (_, i) => 128 + ((i * 37) % 127)), 'binary'],
    ['gzipped parquet', gzipSync(Buffer.concat([Buffer.from('PAR1'), zeros])), 'Parquet'],
    ['html', '<!DOCTYPE html><html>', 'HTML'],
    ['lfs', 'version https://git-lfs.github.com/spec/v1\noid sha256:1', 'LFS'],
    ['array', '[{"prompt": "x"}]', 'JSON array'],
    ['document', '{\n "a": 1\n}', 'JSON document'],
    ['fields', '{"prompt": "hello", "output_tokens": 3}', 'prompt, output_tokens'],
    ['columns', 'time,input,output\n1,2,3', 'time,input,output'],
    ['no header', '0,100,10', 'without a header'],
    ['long', `{"x": "${'y'.repeat(500_000)}"}`, 'fields x'],
    ['separators', 'a\u2028b\u0085c\u202ed', 'a?b?c?d'],
    ['nothing', '', 'not a trace'],
  ])('%s: one short line with a name', (_name, content, what) => {
    const { code, message } = refusal(() => read(content))
    expect(code).toBe('ERR_SIM_TRACE_FORMAT')
    expect(message).toContain(what)
    expect(message.length).toBeLessThan(300)
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })

  test('what is wrong inside of a file is quoted short and harmless', () => {
    const rubbish = `arrival_s,prompt_tokens,output_tokens\n0,1,1\n\u001b[2J${'\u0000'.repeat(9)}${'x'.repeat(1e6)},1,1`
    const { message } = refusal(() => parseTrace(rubbish, 'r'))
    expect(message).toContain('line 3')
    expect(message.length).toBeLessThan(400)
    expect(message).not.toMatch(/\p{Cc}/u)
  })

  test('a gzip file that is cut short is an error of the file', () => {
    const whole = gzipSync(AZURE_2025)
    expect(refusal(() => read(whole.subarray(0, whole.length - 9))).code).toBe('ERR_SIM_TRACE_FILE')
  })
})

describe('size', () => {
  test('a file beyond the limit is refused at once; its first requests can be had', () => {
    const path = join(folder, 'large.csv')
    const fd = openSync(path, 'w')
    writeSync(fd, 'arrival_s,prompt_tokens,output_tokens\n')
    for (let i = 0; i < 200; i++) writeSync(fd, `${i},1,1\n`)
    // A hole of zeros: whoever reads on finds no line.
    truncateSync(path, 401 * 1024 * 1024)
    const { code, message } = refusal(() => readTrace(path))
    expect(code).toBe('ERR_SIM_TRACE_SIZE')
    expect(message).toContain('head -n')
    expect(readTrace(path, { requests: 100 }).size).toBe(100)
  })

  test('of a gzip file no more is unpacked than the requests asked for need', () => {
    const text = `arrival_s,prompt_tokens,output_tokens\n${'0,1,1\n'.repeat(100)}`
    // Bytes that do not shrink fill the first piece; whoever unpacks what follows fails.
    const noise = randomBytes(2 ** 21)
    const packed = gzipSync(Buffer.concat([Buffer.from(text), noise]))
    packed.fill(0xff, packed.length - 2 ** 19)
    const path = join(folder, 'large.csv.gz')
    writeFileSync(path, packed)
    expect(readTrace(path, { requests: 100 }).size).toBe(100)
    expect(refusal(() => readTrace(path, { skipBad: true })).code).toBe('ERR_SIM_TRACE_FILE')
  })

  test('standard input, gzipped or not', () => {
    const program = `import { readTrace } from './src/sim/traces/read-trace-file.ts'; console.log(readTrace('-').size)`
    for (const input of [AZURE_2025, gzipSync(AZURE_2025)]) {
      const out = execFileSync('node', ['--import', 'tsx', '--input-type=module', '-e', program], {
        input,
        encoding: 'utf8',
      })
      expect(out.trim()).toBe('2')
    }
  })
})
