import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcessBackend } from '../../src/deploy/harness/backend.js'
import { describeDifference, firstDifference } from '../../src/deploy/harness/compare.js'
import { drive, measureRun, outputsOf } from '../../src/deploy/harness/drive.js'
import { jsonLinesBackend } from '../../src/deploy/harness/json-lines-backend.js'
import { openAiBackend, serverSentEvents } from '../../src/deploy/harness/openai-backend.js'

/** A backend in another language would read and write the same lines. */
const ECHO = `
import { createInterface } from 'node:readline'
const seen = new Map()
console.log(JSON.stringify({ ready: true }))
for await (const line of createInterface({ input: process.stdin })) {
  const { id, input, end } = JSON.parse(line)
  if (!end) { seen.set(id, [...(seen.get(id) ?? []), input]); console.log(JSON.stringify({ id, output: input * 2 })) }
  else console.log(JSON.stringify(seen.get(id).includes(13) ? { id, error: 'thirteen' } : { id, done: true }))
}
`
const echo = () =>
  jsonLinesBackend('echo', { command: [process.execPath, '--input-type=module', '-e', ECHO] })

describe('the harness', () => {
  it('writes inputs at their times and reads outputs as they come, requests overlapping', async () => {
    const active = { now: 0, most: 0 }
    const backend = inProcessBackend('chat', async function* (inputs) {
      active.most = Math.max(active.most, ++active.now)
      for await (const input of inputs) yield Number(input) + 1
      active.now--
    })
    const session = await backend.open()
    const records = await drive(session, [
      {
        inputs: [
          { atMs: 0, value: 1 },
          { atMs: 40, value: 2 },
        ],
      },
      { inputs: [{ atMs: 10, value: 5 }] },
    ])
    expect(outputsOf(records)).toEqual([[2, 3], [6]])
    expect(active.most).toBe(2)
    expect(records[0]!.readyMs).toBe(40)
    // The first output came before the batch was complete; the second cannot have.
    expect(records[0]!.outputs[0]!.atMs).toBeLessThan(records[0]!.outputs[1]!.atMs)
    // A timer of the platform may fire up to a millisecond before the clock says so.
    expect(records[0]!.outputs[1]!.atMs).toBeGreaterThan(38)
  })

  it('computes first output, gaps, rate and real-time factor from the times alone', () => {
    const at = (...times: number[]) => times.map((atMs) => ({ atMs, value: 0 }))
    const measures = measureRun(
      [
        { readyMs: 100, lateMs: 0, outputs: at(150, 160, 180) },
        { readyMs: 0, lateMs: 0, outputs: at(20) },
      ],
      40,
    )
    expect(measures.firstOutputMs).toEqual([50, 20])
    expect(measures.gapMs).toEqual([10, 20])
    expect(measures.ratePerSec).toEqual([3000 / 80, 50])
    expect(measures.realTimeFactor).toBeCloseTo(100 / 160)
  })

  it('drives a program that speaks JSON lines', async () => {
    const session = await echo().open()
    const records = await drive(session, [
      {
        inputs: [
          { atMs: 0, value: 4 },
          { atMs: 5, value: 6 },
        ],
      },
      { inputs: [{ atMs: 0, value: 1 }] },
    ])
    expect(outputsOf(records)).toEqual([[8, 12], [2]])
    await session.close()
  })

  it('fails the request that the program fails, and no other', async () => {
    const session = await echo().open()
    await expect(drive(session, [{ inputs: [{ atMs: 0, value: 13 }] }])).rejects.toThrow(/thirteen/)
    expect(outputsOf(await drive(session, [{ inputs: [{ atMs: 0, value: 2 }] }]))).toEqual([[4]])
    await session.close()
  })

  it.each([
    ['prints a log line on standard output', 'console.log("loading...")', /no JSON/],
    [
      'ends',
      'console.error("CUDA out of memory"); process.exit(1)',
      /status 1.*CUDA out of memory/s,
    ],
    ['does not exist', undefined, /could not be started/],
  ])('explains a program that %s', async (_, source, message) => {
    const command: [string, ...string[]] =
      source === undefined ? ['./no-such-program'] : [process.execPath, '-e', source]
    await expect(jsonLinesBackend('broken', { command, readyMs: 20_000 }).open()).rejects.toThrow(
      message,
    )
  })
})

describe('the harness on an OpenAI-compatible server', () => {
  let server: Server
  let baseUrl: string

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = ''
      request.on('data', (part) => {
        body += part
      })
      request.on('end', () => {
        const { messages, stream } = JSON.parse(body || '{}') as {
          messages?: { content: string }[]
          stream?: boolean
        }
        const text = messages?.[0]?.content ?? ''
        if (text === 'bad') {
          response.writeHead(400).end('{"error":{"message":"no such model"}}')
          return
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const send = (delta: object) =>
          response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`)
        send({ role: 'assistant' })
        if (stream) for (const word of text.split(' ')) send({ content: word })
        if (text === 'broken') response.write('data: {"choices\n\n')
        else response.write('data: [DONE]\n\n')
        response.end()
      })
    }).listen(0)
    await new Promise((resolve) => server.once('listening', resolve))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  })
  afterAll(() => server.close())

  const ask = async (content: string) => {
    const session = await openAiBackend('server', { baseUrl }).open()
    return outputsOf(
      await drive(session, [{ inputs: [{ atMs: 0, value: { messages: [{ content }] } }] }]),
    )
  }

  it('takes the deltas as outputs', async () => {
    expect(await ask('one two three')).toEqual([['one', 'two', 'three']])
  })

  it('explains a refusal and a broken event', async () => {
    await expect(ask('bad')).rejects.toThrow(/HTTP 400.*no such model/)
    await expect(ask('broken')).rejects.toThrow(/an event is no JSON/)
  })

  it('puts events together from any cut of the bytes', async () => {
    const text = 'data: {"a":1}\r\n\r\n: ping\n\ndata: x\ndata: ü\n\n'
    const bytes = new TextEncoder().encode(text)
    for (let cut = 1; cut < bytes.length; cut++) {
      async function* parts() {
        yield bytes.subarray(0, cut)
        yield bytes.subarray(cut)
      }
      const events: string[] = []
      for await (const event of serverSentEvents('test', parts())) events.push(event)
      expect(events).toEqual(['{"a":1}', 'x\nü'])
    }
  })
})

describe('the comparison of outputs', () => {
  it('is exact to the sign of zero unless told otherwise', () => {
    expect(firstDifference([0], [-0])).toMatchObject({ at: '[0]', expected: '0', got: '-0' })
    expect(firstDifference([Number.NaN], [Number.NaN])).toBeUndefined()
    expect(firstDifference(new Float32Array([1, 2]), [1, 2])).toBeUndefined()
  })

  it('applies the longest tolerance that fits a path', () => {
    const tolerances = {
      '': { absolute: 0, relative: 0 },
      video: { absolute: 0.1, relative: 0 },
      'video.mask': { absolute: 0, relative: 0 },
    }
    const base = { video: { frame: [1, 2], mask: [1] }, audio: [1] }
    expect(
      firstDifference([base], [{ ...base, video: { frame: [1.05, 2], mask: [1] } }], tolerances),
    ).toBeUndefined()
    const mask = firstDifference(
      [base],
      [{ ...base, video: { frame: [1, 2], mask: [1.05] } }],
      tolerances,
    )
    expect(describeDifference(mask!)).toBe('[0].video.mask[0]: expected 1, got 1.05')
    expect(firstDifference([base], [{ ...base, audio: [1.05] }], tolerances)?.at).toBe(
      '[0].audio[0]',
    )
  })

  it('never lets a tolerance forgive what is no number, is missing, or is of another kind', () => {
    const wide = { '': { absolute: 1e9, relative: 1 } }
    for (const got of [Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined])
      expect(firstDifference([1], [got], wide)).toBeDefined()
    expect(firstDifference([1, 2], [1], wide)).toMatchObject({ at: '.length' })
    expect(firstDifference({ a: 1 }, { a: 1, b: 2 }, wide)).toMatchObject({
      at: 'b',
      expected: 'nothing',
    })
  })
})
