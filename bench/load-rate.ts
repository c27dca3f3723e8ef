/**
 * @module
 * How late does the load generator send? A bare server in a process of its own answers a thousand small text streams a second, then
 * holds two hundred streams of sound open. Row `loadSend`: lag of the sending behind the schedule, ms, and what was reached.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { parseLoadClasses, runLoad, scheduleLoad, summarizeLoad } from '../src/live/index.js'
import { monotonicMs } from '../src/live/monotonic.js'
import type { Bench } from './bench.js'

/** Three pieces of text at once, or forty of half a second of sound, one each 100 ms. */
const SERVER = `
const { createServer } = require('node:http')
const text = (word) => 'data: {"choices":[{"index":0,"delta":{"content":"' + word + '"},"finish_reason":null}],"modality":"text"}\\n\\n'
const sound = 'data: {"choices":[{"index":0,"delta":{"content":"' + Buffer.alloc(24000, 1).toString('base64') + '"}}],"modality":"audio"}\\n\\n'
createServer((request, response) => {
  if (request.method === 'GET') { response.writeHead(404); response.end(); return }
  let body = ''
  request.on('data', (chunk) => { body += chunk })
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (!body.includes('"audio"')) {
      response.write(text('one'))
      setImmediate(() => { response.write(text('two')); response.end('data: [DONE]\\n\\n') })
      return
    }
    let left = 40
    const timer = setInterval(() => {
      response.write(sound)
      if (--left === 0) { clearInterval(timer); response.end('data: [DONE]\\n\\n') }
    }, 100)
  })
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })
`

export const bench: Bench = {
  name: 'load-rate',
  question:
    'how late does one process of `load` send at 1,000 text streams/s, and with 200 streams of sound?',
  async run({ quick, log }) {
    const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    const url = `http://127.0.0.1:${Number(String(port))}`
    try {
      const text = await measure(url, { modalities: ['text'] }, 1000, quick ? 3 : 15)
      log(`text: ${JSON.stringify(text)}`)
      // Each lasts four seconds: 50 a second are 200 at once.
      const audio = await measure(url, { modalities: ['audio'] }, 50, quick ? 6 : 20)
      log(`audio: ${JSON.stringify(audio)}`)
      return { loadSend: { textAt1000: text, audio200: audio } }
    } finally {
      server.kill()
    }
  },
}

async function measure(url: string, of: object, rate: number, seconds: number) {
  const classes = parseLoadClasses(
    [{ name: 'one', slo: { metric: 'ttfb', ms: 1000 }, promptTokens: 16, answerTokens: 2, ...of }],
    'bench',
  )
  const schedule = scheduleLoad({ classes, rate, seconds, seed: 1, arrivals: { kind: 'constant' } })
  const startMs = monotonicMs() + 500
  const share = { first: 0, step: 1, startMs }
  const before = process.cpuUsage()
  let inFlight = 0
  const run = await runLoad({ url, classes, schedule, seed: 1, share })
  const cpu = process.cpuUsage(before)
  for (const { endMs } of run.records) inFlight += (endMs ?? 0) / 1000 / seconds
  const { sendLagMs, failed, scheduled } = summarizeLoad({ run, schedule, classes, url, seed: 1 })
  return {
    sendLagMs,
    scheduled,
    failed,
    meanInFlight: Number(inFlight.toFixed(1)),
    cpuShare: Number(((cpu.user + cpu.system) / 1e6 / run.seconds).toFixed(2)),
    load1: loadavg()[0],
  }
}
