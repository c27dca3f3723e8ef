import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXIT } from '../../src/cli/command.js'
import { openEngine } from '../../src/gpu/engine-probe.js'
import { parseLadderDescription } from '../../src/gpu/ladder-description.js'
import { readServerEvents } from '../../src/gpu/server-events.js'
import { emptyRecord, formatSweepCsv, type SweepRecord } from '../../src/gpu/sweep-csv.js'
import { renderSweepReport } from '../../src/gpu/sweep-report.js'
import { chooseLadder, parseSmSweep } from '../../src/sim/index.js'
import { cudaDouble, hasCompiler, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { cli } from '../support/cli.js'
import { runs } from '../support/runs.js'
import { NOTHING, openCudaDouble, thrown } from './open-double.js'

const folder = mkdtempSync(join(tmpdir(), 'horizonserve-sweep-'))
const out = join(folder, 'sweep.csv')
const report = join(folder, 'sweep.html')
const files = ['--out', out, '--report', report]

describeDouble('sweep on the double', () => {
  beforeAll(() => {
    process.env.HORIZON_LIBCUDA = cudaDouble()
    process.env.HORIZON_LIBNVML = nvmlDouble()
  })
  afterAll(() => {
    delete process.env.HORIZON_LIBCUDA
    delete process.env.HORIZON_LIBNVML
  })

  test('writes the table, the page and one JSON object, and closes everything', async () => {
    const { live } = openCudaDouble('sms=142;cc=89')
    const run = await cli('sweep', '--levels', '40,72,104', '--steps', '6', '--json', ...files)
    expect(run.code).toBe(EXIT.ok)
    const result = JSON.parse(run.out)
    expect(result.ladder.totalSms).toBe(142)
    const records = result.records as SweepRecord[]
    expect(records.map((r) => [r.sms, r.kind])).toEqual([
      [40, 'co-running'],
      [72, 'co-running'],
      [104, 'co-running'],
      [142, 'off'],
    ])
    for (const record of records) {
      expect(record.tpotMs).toBeGreaterThan(0)
      expect(record.coRunTpotMs).toBeGreaterThan(0)
      expect(record.gbPerSec).toBeGreaterThan(0)
    }
    // `calibrate` reads what `sweep` wrote, and chooses a ladder from it.
    const rows = parseSmSweep(readFileSync(out, 'utf8'), out)
    expect(rows.map((row) => row.sms)).toEqual([40, 72, 104, 142])
    expect(rows[0]?.decodeTpotMs).toBeCloseTo(records[0]?.tpotMs as number, 5)
    expect(rows[0]?.corunPressure).toBe(0.425)
    const { ladder } = chooseLadder(rows, 142)
    expect(ladder.levels.every((sms) => [40, 72, 104].includes(sms))).toBe(true)
    const page = readFileSync(report, 'utf8')
    expect(page).toContain('<polyline')
    expect(page).not.toMatch(/<script|https?:\/\//)
    expect(live()).toEqual(NOTHING)
  })

  test('--describe writes what the stages build their rows from, and measures nothing', async () => {
    const { live } = openCudaDouble('sms=142;cc=89')
    const file = join(folder, 'ladder.json')
    const { code, out: text } = await cli('sweep', '--levels', '40,72,104', '--describe', file)
    expect(code).toBe(EXIT.ok)
    expect(text).toContain('rows of 40, 72, 104 of 142 SMs')
    const description = parseLadderDescription(JSON.parse(readFileSync(file, 'utf8')))
    expect(description.levels.map((row) => row.groups)).toEqual([10, 18, 26])
    expect(live()).toEqual(NOTHING)
  })

  test('wrong options name the option', async () => {
    openCudaDouble('sms=142;cc=89')
    for (const [args, code] of [
      [['--device', '3'], EXIT.badInput],
      [['--device', 'x'], EXIT.badInput],
      [['--levels', '40,999'], EXIT.badInput],
      [['--steps', '0'], EXIT.badInput],
    ] as const)
      expect((await cli('sweep', ...args, ...files)).code).toBe(code)
    openCudaDouble('devices=0')
    expect((await cli('sweep', ...files)).code).toBe(EXIT.unavailable)
  })
})

/** A stand-in for an engine: streams pieces at a pace, a long answer until the client hangs up. */
describe('sweep through a stand-in engine', () => {
  let mode = 'good'
  let open = 0
  const server = createServer((request, response) => {
    if (request.url === '/v1/models') {
      response.end(JSON.stringify(mode === 'nomodel' ? {} : { data: [{ id: 'stand-in' }] }))
      return
    }
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => answer(JSON.parse(text), response))
  })
  const answer = (
    body: { max_tokens?: number; modalities?: string[] },
    response: ServerResponse,
  ): void => {
    if (mode === 'refuse') {
      response.writeHead(503).end('busy')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    open += 1
    response.on('close', () => {
      open -= 1
    })
    if (mode === 'garbage') {
      response.end('data: {nope\n\n')
      return
    }
    if (mode === 'error') {
      response.end('data: {"error":{"message":"out of blocks"}}\n\n')
      return
    }
    let left = body.modalities === undefined ? (body.max_tokens ?? 4) : 100_000
    response.write(': hello\r\n\r\ndata: {"choices":[{"delta":{"role":"assistant"}}]}\r\n\r\n')
    const timer = setInterval(() => {
      response.write('data: {"choices":[{"delta":{"content":"a"}}]}\r\n\r\n')
      left -= 1
      if (left > 0 && !response.destroyed) return
      clearInterval(timer)
      response.end('data: [DONE]\n\n')
    }, 1)
    response.on('close', () => clearInterval(timer))
  }
  let url = ''
  beforeAll(async () => {
    if (hasCompiler) process.env.HORIZON_LIBNVML = nvmlDouble()
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    delete process.env.HORIZON_LIBNVML
    server.closeAllConnections()
    server.close()
  })

  test('per cap: time per token alone and first token beside a long request; the cap command runs first', async () => {
    mode = 'good'
    const log = join(folder, 'caps.txt')
    const args = ['--engine', url, '--caps', '40,72', '--repeats', '2', '--total-sms', '142']
    const more = [
      '--long-body',
      '{"modalities":["audio"]}',
      '--apply-cap',
      `echo $HORIZON_CAP_SMS >> ${log}`,
    ]
    const run = await cli('sweep', ...args, ...more, '--json', ...files)
    expect(run.code).toBe(EXIT.ok)
    const { records, facts } = JSON.parse(run.out) as { records: SweepRecord[]; facts: string[] }
    expect(records.map((r) => [r.sms, r.downstreamSms])).toEqual([
      [40, 102],
      [72, 70],
    ])
    for (const record of records) {
      expect(record.tpotMs).toBeGreaterThan(0)
      expect(record.coRunTtftMs).toBeGreaterThan(0)
      // Not measured through an engine; JSON has no NaN.
      expect(record.coRunTpotMs).toBeNull()
    }
    expect(readFileSync(log, 'utf8')).toBe('40\n72\n')
    expect(facts[0]).toBe('model stand-in')
    if (hasCompiler) {
      const rows = parseSmSweep(readFileSync(out, 'utf8'), out)
      expect(rows.map((row) => row.corunPressure)).toEqual([0.37, 0.37])
    }
  })

  test('the long request is given up when the short ones are done', async () => {
    mode = 'good'
    const engine = await openEngine({ url: `${url}/v1/`, longBody: { modalities: ['audio'] } })
    expect(await engine.ttftBesideLong(2)).toHaveLength(2)
    await new Promise<void>((done) => {
      const look = setInterval(() => {
        if (open > 0) return
        clearInterval(look)
        done()
      }, 5)
    })
  })

  test.each([
    ['refuse', /503: busy/],
    ['garbage', /not JSON/],
    ['error', /out of blocks/],
  ])('an engine that answers wrongly (%s) is an error with its words', async (which, words) => {
    mode = 'good'
    const engine = await openEngine({ url })
    mode = which
    await expect(engine.decodeTpotMs()).rejects.toMatchObject({
      code: 'ERR_GPU_ENGINE',
      message: expect.stringMatching(words),
    })
    await expect(engine.ttftBesideLong(1)).rejects.toMatchObject({ code: 'ERR_GPU_ENGINE' })
  })

  test('nobody there, no URL, no model, no caps', async () => {
    await expect(openEngine({ url: 'http://127.0.0.1:9' })).rejects.toMatchObject({
      code: 'ERR_GPU_ENGINE_UNAVAILABLE',
    })
    await expect(openEngine({ url: 'ftp://x' })).rejects.toMatchObject({
      code: 'ERR_GPU_ENGINE_URL',
    })
    mode = 'nomodel'
    await expect(openEngine({ url })).rejects.toMatchObject({ code: 'ERR_GPU_ENGINE' })
    expect((await cli('sweep', '--engine', url, ...files)).code).toBe(EXIT.badInput)
    const gone = await cli('sweep', '--engine', 'http://127.0.0.1:9', '--caps', '8', ...files)
    expect(gone.code).toBe(EXIT.unavailable)
  })
})

test('events are the same however the bytes are cut', async () => {
  const text = 'data: a\r\n\r\n: note\n\ndata:b\ndata: c\n\nid: 3\r\rdata: é\r\n\r\ndata: last'
  const whole = ['a', 'b\nc', 'é', 'last']
  const bytes = new TextEncoder().encode(text)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 8 }), async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (let i = 1; i < at.length; i++) yield bytes.subarray(at[i - 1], at[i])
      }
      const seen: string[] = []
      for await (const data of readServerEvents(pieces())) seen.push(data)
      expect(seen).toEqual(whole)
    }),
    { numRuns: runs(200, 5000) },
  )
})

describe('the sweep table', () => {
  const record: SweepRecord = {
    ...emptyRecord(40, 'co-running', 102),
    tpotMs: 1.25,
    coRunTtftMs: 3,
    pressure: 0.5,
    pressureKind: 'dram-bandwidth',
  }

  test('has its header first, the columns of calibrate first, and an empty cell for what was not measured', () => {
    const text = formatSweepCsv([record, { ...record, sms: 72, kind: 'a,b' }])
    expect(text.startsWith('sms,decode_tpot_ms,corun_ttft_ms,corun_pressure,')).toBe(true)
    expect(text.split('\n')[1]).toBe('40,1.25,3,0.5,dram-bandwidth,co-running,102,,,,,,,,')
    expect(text.split('\n')[2]).toContain('a b')
    expect(parseSmSweep(text, 'x').map((row) => row.sms)).toEqual([40, 72])
  })

  test('without pressure it is refused by calibrate with the line, not read as 0', () => {
    const text = formatSweepCsv([{ ...record, pressure: Number.NaN }])
    expect(thrown(() => parseSmSweep(text, 'x'))).toMatchObject({ code: 'ERR_SIM_SWEEP_LINE' })
  })

  test('the page escapes what it is given and draws only what was measured', () => {
    const page = renderSweepReport([record], '<b>title</b>', ['a & b'])
    expect(page).toContain('&lt;b&gt;title&lt;/b&gt;')
    expect(page).toContain('a &amp; b')
    expect(page).not.toContain('Bandwidth of the shared stage')
    expect(page).not.toContain('NaN')
  })
})
