/**
 * @module
 * The Endpoint Picker Protocol 1.0.0 over Envoy's external processor: one gRPC stream per HTTP request. The destination goes out as a
 * header and as dynamic metadata, both the same. Response bodies are never asked for: the gateway keeps them, and only the response's
 * headers and the end of the stream are heard of.
 */

import { BODY_MODE } from './ext-proc-proto.js'
import { loadGrpc } from './load-grpc.js'
import type { PickAnswer, Picker } from './picker.js'
import { CLASS_HEADER, SLO_HEADERS } from './request-facts.js'

export const DESTINATION = 'x-gateway-destination-endpoint'
const SUBSET_SPACE = 'envoy.lb.subset_hint'
const SUBSET_KEY = 'x-gateway-destination-endpoint-subset'
const LB_SPACE = 'envoy.lb'
const SERVICE = 'envoy.service.ext_proc.v3.ExternalProcessor'

export interface ExtProcServerOptions {
  readonly picker: Picker
  /** `ip:port`; port 0 takes a free one. @default '127.0.0.1:9002' */
  readonly listen?: string
  /** Largest request body, bytes; larger ones are refused with 413. @default 64 MiB */
  readonly maxBodyBytes?: number
  /** Most bytes of request headers; more are refused with 431. @default 64 KiB */
  readonly maxHeaderBytes?: number
}

export interface ExtProcServer {
  readonly port: number
  /** Streams open now. */
  readonly open: number
  stop(): Promise<void>
}

/** Envoy takes streamed body chunks below this size. */
const CHUNK_BYTES = 62_000
/** From here on a body's beginning decides. */
const DECIDE_BYTES = 1 << 20
const OVERWRITE = 2
const SERVING = 1
const NOT_SERVING = 2

/** What arrives and leaves, as far as it is read. The wire is untrusted: every field may be missing. */
interface Incoming {
  readonly request?: string
  readonly request_headers?: { headers?: { headers?: RawHeader[] }; end_of_stream?: boolean }
  readonly request_body?: { body?: Buffer; end_of_stream?: boolean }
  readonly metadata_context?: { filter_metadata?: Record<string, Struct> }
  readonly attributes?: Record<string, Struct>
  readonly protocol_config?: { request_body_mode?: number }
}
interface RawHeader {
  readonly key?: string
  readonly value?: string
  readonly raw_value?: Buffer
}
interface Struct {
  readonly fields?: Record<string, Value>
}
interface Value {
  readonly string_value?: string
  readonly list_value?: { values?: Value[] }
}
type Outgoing = Readonly<Record<string, unknown>>

export async function serveExtProc(options: ExtProcServerOptions): Promise<ExtProcServer> {
  const { picker, maxBodyBytes = 64 << 20, maxHeaderBytes = 64 << 10 } = options
  const grpc = await loadGrpc()
  const server = new grpc.js.Server({
    // A chunk of a body, and headers, with room to spare.
    'grpc.max_receive_message_length': Math.max(4 << 20, 2 * maxHeaderBytes),
    'grpc.max_concurrent_streams': 1 << 20,
    // Many bodies pass through one connection at once; what is held is bounded per request.
    'grpc-node.max_session_memory': Number.MAX_SAFE_INTEGER,
    'grpc-node.flow_control_window': 4 << 20,
  })
  let open = 0
  server.addService(grpc.processor, {
    Process(call: Duplex) {
      open += 1
      const end = converse(call, picker, maxBodyBytes, maxHeaderBytes)
      let isOver = false
      const over = (): void => {
        if (isOver) return
        isOver = true
        open -= 1
        end()
      }
      call.on('end', () => {
        over()
        call.end()
      })
      call.on('cancelled', over)
      call.on('close', over)
      call.on('error', over)
    },
  })
  const statusOf = (service: string): number | undefined => {
    if (service === 'liveness') return SERVING
    if (service === '' || service === 'readiness' || service === SERVICE)
      return picker.numReady > 0 ? SERVING : NOT_SERVING
    return undefined
  }
  server.addService(grpc.health, {
    Check(
      call: { request: { service?: string } },
      reply: (error: object | null, value?: object) => void,
    ) {
      const status = statusOf(call.request.service ?? '')
      if (status === undefined)
        reply({ code: grpc.js.status.NOT_FOUND, details: 'no such service' })
      else reply(null, { status })
    },
    Watch(call: Duplex & { request: { service?: string } }) {
      let last: number | undefined
      const tell = (): void => {
        const status = statusOf(call.request.service ?? '') ?? 3
        if (status === last) return
        last = status
        call.write({ status })
      }
      tell()
      const timer = setInterval(tell, 500)
      call.on('cancelled', () => clearInterval(timer))
      call.on('close', () => clearInterval(timer))
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.js.ServerCredentials.createInsecure()
    server.bindAsync(options.listen ?? '127.0.0.1:9002', credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  return {
    port,
    get open() {
      return open
    },
    async stop() {
      picker.stop()
      await new Promise<void>((resolve) => {
        // Requests under way get a moment; a stream per open response must not hold the process.
        const limit = setTimeout(() => server.forceShutdown(), 1000)
        server.tryShutdown(() => {
          clearTimeout(limit)
          resolve()
        })
      })
    },
  }
}

/** A stream of the gateway. */
interface Duplex {
  // biome-ignore lint/suspicious/noExplicitAny: the type of grpc-js
  on(event: string, listener: (...args: any[]) => void): unknown
  write(message: Outgoing): boolean
  end(): void
}

/** One HTTP request. Returns what is to be done when it is over. */
function converse(
  call: Duplex,
  picker: Picker,
  maxBodyBytes: number,
  maxHeaderBytes: number,
): () => void {
  let headers: Map<string, string> | undefined
  let source = ''
  let subset: string[] = []
  let mode: number = BODY_MODE.fullDuplexStreamed
  let chunks: Buffer[] = []
  let size = 0
  let answer: PickAnswer | undefined
  let isRefused = false

  const refuse = (
    code: number,
    text: string,
    extra: readonly (readonly [string, string])[] = [],
  ): void => {
    isRefused = true
    chunks = []
    call.write({
      immediate_response: {
        status: { code },
        headers: {
          set_headers: [...extra, ['content-type', 'application/json'] as const].map(setHeader),
        },
        body: Buffer.from(JSON.stringify({ error: { message: text, type: 'picker', code } })),
      },
    })
  }

  /** Decides; false when the request was refused. */
  const decide = (): boolean => {
    const path = headers?.get(':path') ?? ''
    const body = Buffer.concat(chunks)
    answer = picker.pick({ path, headers: headers ?? new Map(), body, source, subset })
    if (answer.kind === 'endpoint') return true
    if (answer.kind === 'unavailable') refuse(503, 'no endpoint is ready')
    else
      refuse(429, 'every endpoint would answer too late', [
        ['retry-after', String(answer.retryAfterS)],
      ])
    return false
  }

  const destination = (): { response: Outgoing; metadata: Outgoing } => {
    const addresses = answer?.kind === 'endpoint' ? answer.addresses.join(',') : ''
    // Whoever may not set an SLO or a class does not set it on the engine's side either.
    const removed = picker.isTrusted(source) ? [] : [...SLO_HEADERS, CLASS_HEADER]
    return {
      response: {
        header_mutation: {
          set_headers: [setHeader([DESTINATION, addresses])],
          remove_headers: removed,
        },
        clear_route_cache: true,
      },
      metadata: {
        fields: {
          [LB_SPACE]: {
            struct_value: { fields: { [DESTINATION]: { string_value: addresses } } },
          },
        },
      },
    }
  }

  const onHeaders = (message: Incoming): void => {
    const part = message.request_headers ?? {}
    headers = new Map()
    let bytes = 0
    for (const { key = '', value, raw_value } of part.headers?.headers ?? []) {
      const text =
        raw_value !== undefined && raw_value.length > 0 ? raw_value.toString('utf8') : (value ?? '')
      bytes += key.length + text.length
      headers.set(key.toLowerCase(), text)
    }
    source = addressOf(message.attributes)
    subset = subsetOf(message.metadata_context?.filter_metadata?.[SUBSET_SPACE])
    if (message.protocol_config !== undefined)
      mode = message.protocol_config.request_body_mode ?? BODY_MODE.none
    if (bytes > maxHeaderBytes) {
      refuse(431, 'request headers too large')
      return
    }
    if (Number(headers.get('content-length') ?? 0) > maxBodyBytes) {
      refuse(413, `request body above ${maxBodyBytes} bytes`)
      return
    }
    const isWhole = part.end_of_stream === true
    // An upgraded connection has no end to wait for.
    const decidesNow = isWhole || mode === BODY_MODE.none || headers.has('upgrade')
    if (decidesNow) {
      if (!decide()) return
      const { response, metadata } = destination()
      call.write({ request_headers: { response }, dynamic_metadata: metadata })
    } else if (mode !== BODY_MODE.fullDuplexStreamed) call.write({ request_headers: {} })
  }

  const onBody = (message: Incoming): void => {
    const { body = Buffer.alloc(0), end_of_stream: isLast = false } = message.request_body ?? {}
    if (answer !== undefined) {
      // Decided on the headers: what follows is handed back as it comes.
      if (mode === BODY_MODE.fullDuplexStreamed) hand(call, [body], isLast)
      else call.write({ request_body: {} })
      return
    }
    size += body.length
    if (size > maxBodyBytes) {
      refuse(413, `request body above ${maxBodyBytes} bytes`)
      return
    }
    chunks.push(body)
    // A large body is not waited for: its beginning decides, and the rest goes on as it comes.
    if (!isLast && mode === BODY_MODE.fullDuplexStreamed && size < DECIDE_BYTES) return
    if (!decide()) return
    const { response, metadata } = destination()
    if (mode === BODY_MODE.fullDuplexStreamed) {
      call.write({ request_headers: { response }, dynamic_metadata: metadata })
      hand(call, chunks, isLast)
    } else call.write({ request_body: { response }, dynamic_metadata: metadata })
    chunks = []
  }

  call.on('data', (message: Incoming) => {
    if (isRefused) return
    switch (message.request) {
      case 'request_headers':
        if (headers === undefined) onHeaders(message)
        break
      case 'request_body':
        if (headers !== undefined) onBody(message)
        break
      case 'request_trailers':
        if (answer === undefined && headers !== undefined && decide()) {
          const { response, metadata } = destination()
          call.write({ request_headers: { response }, dynamic_metadata: metadata })
          hand(call, chunks, false)
        }
        if (!isRefused) call.write({ request_trailers: {} })
        break
      case 'response_headers':
        if (answer?.kind === 'endpoint') answer.responded()
        call.write({ response_headers: {} })
        break
      case 'response_body':
        call.write({ response_body: {} })
        break
      case 'response_trailers':
        call.write({ response_trailers: {} })
        break
      default:
    }
  })
  return () => {
    chunks = []
    if (answer?.kind === 'endpoint') answer.ended()
  }
}

/** Body chunks back, cut to what Envoy takes. */
function hand(call: Duplex, chunks: readonly Buffer[], isLast: boolean): void {
  let sent = false
  const put = (body: Buffer, end_of_stream: boolean): void => {
    sent = true
    call.write({
      request_body: { response: { body_mutation: { streamed_response: { body, end_of_stream } } } },
    })
  }
  for (const [i, chunk] of chunks.entries()) {
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
      const isEnd = isLast && i === chunks.length - 1 && at + CHUNK_BYTES >= chunk.length
      put(chunk.subarray(at, at + CHUNK_BYTES), isEnd)
    }
  }
  if (isLast && (!sent || chunks.at(-1)?.length === 0)) put(Buffer.alloc(0), true)
}

function setHeader([key, value]: readonly [string, string]): Outgoing {
  return { header: { key, raw_value: Buffer.from(value) }, append_action: OVERWRITE }
}

/** Address of the gateway's peer: Envoy alone writes attributes. */
function addressOf(attributes: Record<string, Struct> | undefined): string {
  const text = attributes?.['envoy.filters.http.ext_proc']?.fields?.['source.address']?.string_value
  if (text === undefined) return ''
  return text.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}

function subsetOf(struct: Struct | undefined): string[] {
  const value = struct?.fields?.[SUBSET_KEY]
  const texts = value?.list_value?.values?.map((of) => of.string_value ?? '') ?? [
    value?.string_value ?? '',
  ]
  return texts
    .flatMap((text) => text.split(','))
    .filter((text) => text.trim() !== '')
    .map((text) => text.trim())
}
