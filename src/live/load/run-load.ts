/**
 * @module
 * The open loop: each request leaves at its scheduled instant, whatever the server does. Bodies are made ahead of time, so that none is
 * late for it.
 */
import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import type { LoadClass } from '../load-class.js'
import { monotonicMs } from '../monotonic.js'
import { prepareVoice } from './inputs.js'
import { type LoadRecord, neverSent } from './load-record.js'
import { requestBody } from './request-body.js'
import type { LoadSchedule } from './schedule.js'
import { type Sending, sendRequest, type Target } from './send-request.js'

export interface LoadOptions {
  readonly url: string
  readonly classes: readonly LoadClass[]
  readonly schedule: LoadSchedule
  readonly seed: number
  readonly model?: string
  readonly key?: string
  /** Most requests in flight; the wait for a place counts as latency. @default none */
  readonly maxInFlight?: number
  /** An answer that has not ended by then has failed. @default 300000 */
  readonly timeoutMs?: number
  /** After the last arrival the run ends by then; what has not answered is cut. @default 60000 */
  readonly drainMs?: number
  /** Called once per request as it ends. */
  readonly onRecord?: (record: LoadRecord) => void
  /** Ends the run with what was measured. */
  readonly signal?: AbortSignal
  /** Number of the first request and step between them, where a run is shared among threads. */
  readonly share?: { readonly first: number; readonly step: number; readonly startMs: number }
}

export interface LoadRun {
  readonly records: readonly LoadRecord[]
  /** Requests whose scheduled instant was reached. */
  readonly scheduled: number
  readonly interrupted: boolean
  readonly seconds: number
}

/** Bodies made ahead, and how far ahead. */
const AHEAD = 64
const AHEAD_MS = 2000
/** From asking for the run to its first instant. */
const LEAD_MS = 100
/** Idle connections are given up before servers do: many close theirs after 5 s, and a request on a closed one would fail. */
const IDLE_MS = 3000
const WARM_UP_MS = 5000

export async function runLoad(options: LoadOptions): Promise<LoadRun> {
  const { classes, schedule, seed } = options
  const first = options.share?.first ?? 0
  const step = options.share?.step ?? 1
  prepareVoice(schedule.audioSeconds.reduce((most, seconds) => Math.max(most, seconds), 0))
  const url = new URL(options.url)
  const agentOptions = { keepAlive: true, timeout: IDLE_MS, scheduling: 'lifo' as const }
  const agent = url.protocol === 'https:' ? new SecureAgent(agentOptions) : new Agent(agentOptions)
  const target = {
    url,
    agent,
    headers: options.key === undefined ? {} : { authorization: `Bearer ${options.key}` },
    timeoutMs: options.timeoutMs ?? 300_000,
  }
  await warmUp(target)
  const records: LoadRecord[] = []
  const open = new Set<Sending>()
  const bodies = new Map<number, Buffer>()
  const queue: number[] = []
  const cap = options.maxInFlight ?? Infinity
  const startMs = options.share?.startMs ?? monotonicMs() + LEAD_MS
  const lastMs = startMs + (schedule.atMs[schedule.size - 1] ?? 0)
  const scheduledAt = (index: number): number => startMs + (schedule.atMs[index] as number)
  const classOf = (index: number): LoadClass =>
    classes[schedule.classIndex[index] as number] as LoadClass
  let inFlight = 0
  let next = first
  let toPrepare = first
  let interrupted = false
  let timer: NodeJS.Timeout | undefined
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })

  function prepare(index: number): Buffer {
    const found = bodies.get(index)
    bodies.delete(index)
    if (found !== undefined) return found
    return requestBody(classOf(index), schedule, index, options.model, seed)
  }

  function prepareAhead(): boolean {
    toPrepare = Math.max(toPrepare, next)
    if (toPrepare >= schedule.size || bodies.size >= AHEAD) return false
    if (scheduledAt(toPrepare) > monotonicMs() + AHEAD_MS) return false
    bodies.set(toPrepare, prepare(toPrepare))
    toPrepare += step
    return true
  }

  function start(index: number, dueMs: number): void {
    inFlight++
    const sending = sendRequest({
      target,
      of: classOf(index),
      request: index,
      body: prepare(index),
      scheduledMs: scheduledAt(index),
      dueMs,
      startMs,
      done(record) {
        inFlight--
        open.delete(sending)
        book(record)
        const waiting = queue.shift()
        if (waiting !== undefined) start(waiting, monotonicMs())
        else if (inFlight === 0 && next >= schedule.size) finish()
      },
    })
    open.add(sending)
  }

  function book(record: LoadRecord): void {
    records.push(record)
    options.onRecord?.(record)
  }

  function pump(): void {
    const nowMs = monotonicMs()
    while (next < schedule.size && scheduledAt(next) <= nowMs) {
      if (inFlight < cap) start(next, scheduledAt(next))
      else queue.push(next)
      next += step
    }
    if (next >= schedule.size) {
      if (inFlight === 0) finish()
      return
    }
    const waitMs = scheduledAt(next) - monotonicMs()
    // One body a turn, so that answers are read in between.
    if (waitMs > 3 && prepareAhead()) setImmediate(pump)
    else timer = setTimeout(pump, Math.max(0, waitMs))
  }

  /** What has not answered is cut, what never got a place is booked as it stands. */
  function cutOpen(): void {
    const waiting = queue.splice(0)
    next = schedule.size
    for (const sending of [...open]) sending.cut()
    for (const index of waiting) {
      const waitedMs = monotonicMs() - scheduledAt(index)
      book(neverSent(classOf(index), index, schedule.atMs[index] as number, waitedMs))
    }
    finish()
  }

  function stop(): void {
    interrupted = next < schedule.size || inFlight > 0
    cutOpen()
  }

  pump()
  const drain = setTimeout(cutOpen, lastMs - monotonicMs() + (options.drainMs ?? 60_000))
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  await finished
  clearTimeout(timer)
  clearTimeout(drain)
  options.signal?.removeEventListener('abort', stop)
  agent.destroy()
  records.sort((a, b) => a.request - b.request)
  return {
    records,
    scheduled: records.length,
    interrupted,
    seconds: (monotonicMs() - startMs) / 1000,
  }
}

/** A connection and the code behind it, so that the first request is not late for them. What the server says to it is no matter. */
function warmUp({ url, agent, headers }: Target): Promise<void> {
  return new Promise((resolve) => {
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    const sent = request(new URL('/v1/models', url), { agent, headers, timeout: WARM_UP_MS })
    sent.on('response', (response) => response.resume().on('close', resolve))
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve())
    sent.end()
  })
}
