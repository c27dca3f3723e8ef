/**
 * @module
 * Sends one request and follows its answer to the end. No retries: what fails has failed.
 */
import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LoadClass } from '../load-class.js'
import { monotonicMs } from '../monotonic.js'
import { type Answer, createAnswer } from './answer-reader.js'
import { judge, type LoadRecord } from './load-record.js'

export interface Target {
  readonly url: URL
  readonly agent: Agent
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

export interface Sending {
  /** Ends it now; the record says so. */
  cut(): void
}

export interface SendOptions {
  readonly target: Target
  readonly of: LoadClass
  readonly request: number
  readonly body: Buffer
  /** On the monotonic clock. */
  readonly scheduledMs: number
  readonly dueMs: number
  readonly startMs: number
  readonly done: (record: LoadRecord) => void
}

export function sendRequest(options: SendOptions): Sending {
  const { target, of, scheduledMs } = options
  let answer: Answer | undefined
  let status: number | null = null
  let firstByteMs = Number.NaN
  let error: string | undefined
  let isOver = false
  let timer: NodeJS.Timeout | undefined

  function over(nowMs: number, cut: boolean): void {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    const since = (ms: number): number => ms - scheduledMs
    const sound = answer?.sound
    const endMs = cut ? Number.NaN : since(nowMs)
    const said = error ?? answer?.error
    const isGood = said === undefined && status === 200
    const value = (): number => {
      if (of.slo.metric === 'ttft') return since(answer?.firstTokenMs ?? Number.NaN)
      if (of.slo.metric === 'ttfa') return since(sound?.firstSoundMs ?? Number.NaN)
      if (of.slo.metric === 'ttfb') return since(firstByteMs)
      // End to end, of an answer that holds something.
      const holds = (answer?.images ?? 0) + (answer?.textChunks ?? 0) + (sound?.seconds ?? 0) > 0
      return isGood && !cut && holds ? endMs : Number.NaN
    }
    const { outcome, firstResponseMs } = judge(of, {
      status,
      error: said,
      cut,
      elapsedMs: since(nowMs),
      valueMs: value(),
    })
    const chunks = answer?.textChunks ?? 0
    const seconds = sound?.seconds ?? 0
    options.done({
      request: options.request,
      class: of.name,
      scheduledMs: rounded(scheduledMs - options.startMs) as number,
      sendLagMs: rounded(sentMs - options.dueMs) as number,
      queueMs: rounded(options.dueMs - scheduledMs) as number,
      status,
      outcome,
      firstResponseMs: firstResponseMs === null ? null : rounded(firstResponseMs),
      firstByteMs: rounded(since(firstByteMs)),
      firstTokenMs: rounded(since(answer?.firstTokenMs ?? Number.NaN)),
      firstAudioMs: rounded(since(sound?.firstChunkMs ?? Number.NaN)),
      firstSoundMs: rounded(since(sound?.firstSoundMs ?? Number.NaN)),
      endMs: rounded(endMs),
      textChunks: chunks,
      tpotMs:
        chunks > 1 && answer !== undefined
          ? rounded((answer.lastTokenMs - answer.firstTokenMs) / (chunks - 1))
          : null,
      audioSeconds: rounded(seconds) as number,
      leadingSilenceMs: rounded(sound?.leadingSilenceMs ?? 0) as number,
      realTimeFactor:
        seconds > 0 && sound !== undefined
          ? rounded(since(sound.lastChunkMs) / 1000 / seconds)
          : null,
      underrunMs: seconds > 0 && sound !== undefined ? rounded(sound.underrunMs) : null,
      images: answer?.images ?? 0,
      ...(answer?.stageMetrics === undefined ? {} : { stageMetrics: answer.stageMetrics }),
      ...(cut ? { cut: true as const } : {}),
      ...(said === undefined ? {} : { error: said.slice(0, 500) }),
    })
  }

  function onResponse(response: IncomingMessage): void {
    status = response.statusCode ?? null
    if (status !== 200) {
      const text: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes < 4096) text.push(chunk)
      })
      response.on('end', () => {
        error = `${status}: ${Buffer.concat(text).toString('utf8').slice(0, 400)}`
        over(monotonicMs(), false)
      })
    } else {
      const reads = createAnswer(of, response.headers)
      answer = reads
      response.on('data', (chunk: Buffer) => {
        const nowMs = monotonicMs()
        if (Number.isNaN(firstByteMs)) firstByteMs = nowMs
        reads.chunk(chunk, nowMs)
      })
      response.on('end', () => {
        const nowMs = monotonicMs()
        reads.end(nowMs)
        over(nowMs, false)
      })
    }
    const broke = (cause?: Error): void => {
      error ??= cause?.message ?? 'the connection broke'
      over(monotonicMs(), false)
    }
    response.on('error', broke)
    response.on('aborted', () => broke())
  }

  const sent: ClientRequest = (target.url.protocol === 'https:' ? httpsRequest : httpRequest)(
    new URL(of.endpoint, target.url),
    {
      method: 'POST',
      agent: target.agent,
      headers: {
        'content-type': 'application/json',
        'content-length': options.body.length,
        'x-request-id': `load-${options.request}`,
        ...target.headers,
      },
    },
  )
  sent.on('response', onResponse)
  sent.on('error', (cause: NodeJS.ErrnoException) => {
    error ??= cause.code ?? cause.message
    over(monotonicMs(), false)
  })
  const sentMs = monotonicMs()
  sent.end(options.body)
  timer = setTimeout(() => {
    error = `no end within ${target.timeoutMs / 1000} s`
    over(monotonicMs(), false)
    sent.destroy()
  }, target.timeoutMs)
  return {
    cut() {
      over(monotonicMs(), true)
      sent.destroy()
    },
  }
}

/** To the microsecond; `null` for what is not there. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Math.round(value * 1000) / 1000 : null
}
