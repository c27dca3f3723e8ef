/**
 * @module
 * The twin: an OpenAI-compatible omni server without a GPU. Real time, the wire of the real ones, the simulator's model of a spec
 * behind it, and our scheduler or a baseline at every step.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HorizonConfig, parseConfig } from '../../config.js'
import { HorizonError } from '../../core/index.js'
import { createEndpointOutlook, emptySample } from '../../policies/index.js'
import { createSimulation } from '../../sim/index.js'
import { RECOMMENDED } from '../../sim/policy-case.js'
import type { LoadClassInput } from '../load-class.js'
import {
  type AnswerContext,
  chatStream,
  chatWhole,
  type Dialect,
  imageAnswer,
  sendJson,
  speechAnswer,
} from './answers.js'
import { createTwinEngine, type TwinEngine } from './engine.js'
import { DEFAULT_LIMITS, isAuthorized, type Limits, readJsonBody } from './http-entry.js'
import { createRealTime } from './real-time.js'
import type { RowTimes, TwinListener } from './request-row.js'
import { createSpeechSamples, SECONDS_PER_UNIT } from './speech-samples.js'
import { calibrateTwin } from './twin-calibration.js'
import { listClasses } from './twin-classes.js'
import { createTallies, type TwinTallies, twinMetricsText } from './twin-metrics.js'
import { schedulerByConfig, schedulerByPolicy } from './twin-scheduler.js'
import { type TwinSpec, twinSpec } from './twin-spec.js'
import { readChat, readImages, readSpeech, WireError, type WireRequest } from './wire-request.js'

export interface TwinOptions {
  /** What it stands for. @default the small built-in spec */
  readonly spec?: TwinSpec
  /** A policy of `simulate` by name. @default the recommended one */
  readonly policy?: string
  /** Whether the policy refuses what is lost, with 429 and Retry-After. Needs one that knows lost requests. @default false */
  readonly sheds?: boolean
  /** A configuration instead: its classes, SLOs, profiles and policy. */
  readonly config?: HorizonConfig
  /** @default vllm-omni */
  readonly dialect?: Dialect
  /** @default 127.0.0.1 */
  readonly host?: string
  /** 0 takes a free one. @default 0 */
  readonly port?: number
  /** Asked for as a bearer token on `/v1/*`. */
  readonly key?: string
  readonly limits?: Partial<Limits>
  /** Requests in the server at once; more are refused with 503. @default 4096 */
  readonly maxRequests?: number
  /** Sees every request first; true: it has answered. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
}

export interface Twin {
  readonly url: string
  readonly spec: TwinSpec
  readonly policy: string
  readonly engine: TwinEngine
  readonly tallies: TwinTallies
  /** Classes with endpoints, sizes and SLOs, as `load` takes them. */
  readonly classes: readonly LoadClassInput[]
  /** The model's clock, ms, brought up to real time; the scheduler's too. */
  nowMs(): number
  /** Latest by which an event of the model was handled since the last call, ms: what this process adds to the model's times. */
  takeWorstLagMs(): number
  /** Stops listening, ends what is open, and waits for it. */
  close(): Promise<void>
}

/** Starts a twin. Throws `ERR_LIVE_PORT` when it cannot listen, and what the spec, policy or configuration throws. */
export async function createTwin(options: TwinOptions = {}): Promise<Twin> {
  const spec = options.spec ?? twinSpec()
  const rows = options.maxRequests ?? 4096
  const limits: Limits = { ...DEFAULT_LIMITS, ...options.limits }
  const dialect = options.dialect ?? 'vllm-omni'
  const { horizon, policy, sharing, classNames, sloMs } =
    options.config === undefined
      ? schedulerByPolicy(
          spec,
          calibrateTwin(spec),
          options.policy ?? RECOMMENDED,
          rows,
          options.sheds,
        )
      : schedulerByConfig(spec, options.config, parseConfig(options.config), rows)
  const classes = listClasses(spec, sloMs)
  const tallies = createTallies(spec.classes.length)
  const simulation = createSimulation()
  const engine = createTwinEngine({ spec, sharing, horizon, classNames, simulation, rows })
  const outlook = createEndpointOutlook(horizon, {
    slots: spec.omni.shared.slots,
    downstreamConcurrency: spec.omni.downstream.slots,
  })
  horizon.events.on('decision', () => outlook.tick(simulation.nowMs))
  const sample = emptySample(horizon.classes.count)
  const realTime = createRealTime(simulation)
  const context: AnswerContext = { spec, dialect, samples: createSpeechSamples(spec.silenceMs) }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    read: (spec: TwinSpec, body: unknown) => WireRequest,
    listenerOf: (wire: WireRequest) => TwinListener,
  ): Promise<void> {
    const wire = read(spec, await readJsonBody(request, limits))
    if (response.destroyed) return
    submit(wire, response, listenerOf(wire))
  }

  /** Puts a request into the engine; its row is freed when the client leaves first. */
  function submit(wire: WireRequest, response: ServerResponse, listener: TwinListener): void {
    const tally = tallies.classes[wire.request.classIndex] as TwinTallies['classes'][number]
    const slo = wire.request.sloMs ?? (sloMs[wire.request.classIndex] as number)
    let decoded = 0
    let units = 0
    let open = true
    realTime.catchUp()
    const row = engine.submit(wire.request, {
      tokens(done, times) {
        decoded = done
        listener.tokens?.(done, times)
        dropIfStalled()
      },
      handedOver: (count, times) => listener.handedOver?.(count, times),
      units(done, times) {
        units = done
        listener.units?.(done, times)
        dropIfStalled()
      },
      shed(earliestMs, times) {
        open = false
        tally.inFlight--
        tallies.rejected++
        // Nothing was decoded yet, so nothing was sent.
        const seconds = Math.max(1, Math.ceil((earliestMs - simulation.nowMs) / 1000))
        const waitedMs = Math.round(simulation.nowMs - times.arrivedMs)
        const message = `refused after ${waitedMs} ms: it could not have had its first response within ${slo} ms`
        refuse(new WireError(429, message), response, seconds)
      },
      end(times) {
        open = false
        tally.inFlight--
        book(times)
        listener.end(times)
      },
    })
    if (row === -1) {
      tallies.failed++
      throw engine.inFlight >= rows
        ? new WireError(503, `the server holds ${rows} requests and takes no more`)
        : new WireError(400, 'the request does not fit the KV cache')
    }
    tally.inFlight++
    tallies.promptTokens += wire.request.promptTokens
    realTime.catchUp()
    response.on('close', () => {
      if (!open) return
      open = false
      tally.inFlight--
      tally.aborted++
      realTime.catchUp()
      engine.abort(row)
      realTime.catchUp()
    })

    /** A client that does not read must not fill the memory. */
    function dropIfStalled(): void {
      if (response.writableLength > limits.maxUnreadBytes) response.destroy()
    }

    function book(times: RowTimes): void {
      const firstMs = times.firstResponseMs - times.arrivedMs
      tally.finished++
      tally.firstResponses++
      tally.firstResponseSumMs += firstMs
      if (firstMs <= slo) tally.met++
      tallies.generationTokens += decoded
      tallies.e2eSumMs += times.finishedMs - times.arrivedMs
      const output = spec.classes[wire.request.classIndex]?.output
      if (output === 'audio') tallies.audioSeconds += units * SECONDS_PER_UNIT
      if (output === 'image') tallies.images++
    }
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] as string
    if (path.startsWith('/v1/') && !isAuthorized(request, options.key)) {
      throw new WireError(401, 'a key is asked for: Authorization: Bearer …')
    }
    const named = request.headers['x-request-id']
    const id = typeof named === 'string' && /^[\w.-]{1,100}$/.test(named) ? named : randomUUID()
    if (request.method === 'POST') {
      if (path === '/v1/chat/completions') {
        return answer(request, response, readChat, (wire) =>
          (wire.stream ? chatStream : chatWhole)(context, wire, `chatcmpl-${id}`, response),
        )
      }
      if (path === '/v1/audio/speech') {
        return answer(request, response, readSpeech, (wire) =>
          speechAnswer(context, wire, response),
        )
      }
      if (path === '/v1/images/generations') {
        return answer(request, response, readImages, (wire) => imageAnswer(wire, response))
      }
    }
    if (request.method === 'GET') {
      request.resume()
      if (path === '/health') return void response.writeHead(200).end()
      if (path === '/v1/models') {
        const model = { id: spec.name, object: 'model', created: 0, owned_by: 'horizonserve-twin' }
        return sendJson(response, 200, { object: 'list', data: [model] })
      }
      if (path === '/horizonserve/classes') {
        return sendJson(response, 200, { server: 'horizonserve-twin', policy, dialect, classes })
      }
      if (path === '/metrics') {
        realTime.catchUp()
        response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' })
        return void response.end(twinMetricsText(spec, engine, tallies, { outlook, sample }))
      }
    }
    throw new WireError(404, `no ${request.method} ${path} here`)
  }

  const server = createServer((request, response) => {
    if (options.intercept?.(request, response) === true) return
    route(request, response).catch((error: unknown) => {
      refuse(error, response)
      request.resume()
    })
  })
  server.maxConnections = limits.maxConnections
  server.requestTimeout = 60_000
  server.headersTimeout = 20_000
  server.keepAliveTimeout = 30_000
  const host = options.host ?? '127.0.0.1'
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HorizonError('ERR_LIVE_PORT', 'cannot listen', {
          field: `${host}:${options.port ?? 0}`,
          expected: 'a free port of this machine',
          got: cause.code,
          cause,
        }),
      ),
    )
    server.listen(options.port ?? 0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    spec,
    policy,
    engine,
    tallies,
    classes,
    nowMs: () => realTime.catchUp(),
    takeWorstLagMs: realTime.takeWorstLagMs,
    async close() {
      realTime.stop()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

function refuse(error: unknown, response: ServerResponse, retryAfterSeconds = 1): void {
  if (response.destroyed) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  const status = error instanceof WireError ? error.status : 500
  const message = error instanceof Error ? error.message : String(error)
  // What is left of a body that is too large is not taken in: the connection ends with the answer.
  const headers: Record<string, string> = status === 413 ? { connection: 'close' } : {}
  if (status === 503 || status === 429) headers['retry-after'] = String(retryAfterSeconds)
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const param = error instanceof WireError ? (error.parameter ?? null) : null
  sendJson(response, status, { error: { message, type, param, code: status } }, headers)
}
