/** A server whose every delay is known: it says when it wrote what, on the clock that the generator reads. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monotonicMs } from '../../src/live/monotonic.js'
import { toneSamples, wavHeader } from '../../src/live/wav.js'

/** What was written to one request, by name of the piece. */
export type Sent = Record<string, number>

export interface TruthServer {
  readonly url: string
  readonly sent: Map<number, Sent>
  close(): Promise<void>
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const SILENCE = Buffer.alloc(24_000 * 2 * 0.1)
export const TONE = toneSamples(24_000, 0, 2400)
export const wav = (pcm: Buffer): string =>
  Buffer.concat([wavHeader(24_000, pcm.length), pcm]).toString('base64')

type Play = (
  say: (name: string, bytes: string | Buffer) => void,
  response: ServerResponse,
) => Promise<void>

const chunk = (delta: object, rest: object = {}): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`
const DONE = 'data: [DONE]\n\n'

/** By the field `play` of the body. */
export const PLAYS: Readonly<Record<string, Play>> = {
  async text(say) {
    await sleep(20)
    say('role', chunk({ role: 'assistant', content: '' }))
    await sleep(20)
    say('first', chunk({ content: 'one' }))
    await sleep(15)
    say('second', chunk({ content: 'two' }))
    say('end', DONE)
  },
  async stall(say) {
    say('first', chunk({ content: 'one' }))
    await sleep(180)
    say('second', chunk({ content: 'two' }))
    say('end', DONE)
  },
  async speech(say) {
    await sleep(10)
    say('text', chunk({ content: 'hello' }, { modality: 'text' }))
    await sleep(15)
    say('silence', chunk({ content: wav(SILENCE) }, { modality: 'audio' }))
    await sleep(25)
    say('sound', chunk({ content: wav(TONE) }, { modality: 'audio' }))
    await sleep(160)
    say('late', chunk({ content: wav(TONE) }, { modality: 'audio' }))
    say('end', DONE)
  },
  async 'other-dialect'(say) {
    await sleep(10)
    say('silence', chunk({ audio: { id: 'a', data: SILENCE.toString('base64') } }))
    await sleep(25)
    say('sound', chunk({ audio: { id: 'a', data: TONE.toString('base64') } }))
    say('end', DONE)
  },
  async empty(say) {
    say('text', chunk({ content: 'hello' }, { modality: 'text' }))
    say('nothing', chunk({ content: '' }, { modality: 'audio' }))
    say('end', DONE)
  },
  async silent(say) {
    say('silence', chunk({ content: wav(SILENCE) }, { modality: 'audio' }))
    say('end', DONE)
  },
  async error(say) {
    say('first', chunk({ content: 'one' }))
    await sleep(5)
    say('error', `data: ${JSON.stringify({ error: { message: 'out of memory' } })}\n\n`)
    say('end', DONE)
  },
  async broken(say, response) {
    say('first', chunk({ content: 'one' }))
    await sleep(5)
    response.destroy()
  },
  async short(say) {
    say('first', chunk({ content: 'one' }))
  },
}

export async function createTruthServer(
  gate: () => Promise<void> = async () => undefined,
): Promise<TruthServer> {
  const sent = new Map<number, Sent>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const piece of request) text += String(piece)
    if (request.method === 'GET') {
      response.writeHead(404).end()
      return
    }
    const { play = 'text' } = JSON.parse(text) as { play?: string }
    const log: Sent = {}
    sent.set(Number(String(request.headers['x-request-id']).replace('load-', '')), log)
    await gate()
    const say = (name: string, bytes: string | Buffer): void => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(bytes)
      log[name] = monotonicMs()
    }
    if (play === '429' || play === '503' || play === '500') {
      response.writeHead(Number(play), { 'retry-after': '1' }).end('{"error":{"message":"no"}}')
      return
    }
    if (request.url === '/v1/audio/speech') {
      response.writeHead(200, { 'content-type': 'audio/wav' })
      say('header', wavHeader(24_000, undefined))
      await sleep(30)
      say('silence', SILENCE.subarray(0, 1001))
      await sleep(20)
      say('sound', Buffer.concat([SILENCE.subarray(1001), TONE]))
      response.end()
      return
    }
    if (request.url === '/v1/images/generations') {
      await sleep(40)
      log.end = monotonicMs()
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ data: play === 'none' ? [] : [{ b64_json: 'A'.repeat(20_000) }] }),
      )
      return
    }
    await PLAYS[play]?.(say, response)
    response.end()
  }

  const server = createServer(
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
