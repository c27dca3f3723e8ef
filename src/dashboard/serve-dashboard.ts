/**
 * @module
 * Serves the dashboard: one page, and its updates as server-sent events, at most ten a second. On loopback, to requests that name
 * loopback as their host, and it only shows.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HorizonError } from '../core/errors.js'
import type { ChangedField } from './configuration-diff.js'
import { createHistory } from './history.js'
import { dashboardPage } from './page.js'
import type { Picture } from './picture.js'

/** One thing that may be wrong with what is shown. */
export interface HealthLine {
  readonly name: string
  readonly state: 'good' | 'warn' | 'bad'
  readonly text: string
}

export interface ShownConfiguration {
  /** YAML or JSON. */
  readonly text: string
  /** When the last reload was taken up, ISO 8601; empty before the first. */
  readonly reloadedAt: string
  readonly changed: readonly ChangedField[]
}

export interface DashboardSource {
  /** `horizonserve run` or `horizonserve twin`, and what is steered. */
  readonly title: string
  /** undefined while there is nothing to show, such as no engine. */
  picture(): Picture | undefined
  health(): readonly HealthLine[]
  configuration(): ShownConfiguration
}

export interface Dashboard {
  readonly url: string
  /** Pages that are open. */
  readonly clients: number
  close(): Promise<void>
}

export const EVERY_MS = 100
const MAX_CLIENTS = 32
/** A page that does not read misses pictures; it gets the next one whole. */
const MAX_UNREAD_BYTES = 256 * 1024
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/** Starts it on 127.0.0.1; port 0 takes a free one. Throws `ERR_DASHBOARD_PORT`. */
export async function serveDashboard(source: DashboardSource, port = 0): Promise<Dashboard> {
  const clients = new Set<ServerResponse>()
  const history = createHistory()
  const page = dashboardPage(source.title)
  let configurationText = ''

  const send = (to: ServerResponse, event: string, data: unknown): void => {
    to.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const tick = (): void => {
    const atMs = Date.now()
    const picture = source.picture()
    const added = picture && history.add(picture, atMs)
    if (clients.size === 0) return
    const now = { atMs, picture: picture ?? null, health: source.health(), ...added }
    const configuration = source.configuration()
    const text = JSON.stringify(configuration)
    const isOther = text !== configurationText
    configurationText = text
    for (const client of clients) {
      if (isOther) send(client, 'configuration', configuration)
      if (client.writableLength < MAX_UNREAD_BYTES) send(client, 'now', now)
    }
  }
  const follow = (request: IncomingMessage, response: ServerResponse): void => {
    if (clients.size >= MAX_CLIENTS) {
      response.writeHead(503, { 'retry-after': '5' }).end('too many pages are open\n')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    send(response, 'history', { lanes: history.lanes, spans: history.spans })
    send(response, 'configuration', source.configuration())
    clients.add(response)
    request.on('close', () => clients.delete(response))
  }

  const server = createServer((request, response) => {
    response.setHeader('x-content-type-options', 'nosniff')
    // A page of another site that has its name point here is not answered.
    if (!LOOPBACK.test(request.headers.host ?? '')) {
      response.writeHead(403).end('only for this machine\n')
    } else if (request.method !== 'GET') response.writeHead(405, { allow: 'GET' }).end()
    else if (request.url === '/') {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': page.policy,
        'cache-control': 'no-store',
      })
      response.end(page.html)
    } else if (request.url === '/events') follow(request, response)
    else if (request.url === '/favicon.ico') response.writeHead(204).end()
    else response.writeHead(404).end('try /\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new HorizonError('ERR_DASHBOARD_PORT', 'the port of the dashboard cannot be used', {
          field: '--ui',
          expected: 'a free port on 127.0.0.1',
          got: `${port}: ${cause.code}`,
          cause,
        }),
      ),
    )
    server.listen(port, '127.0.0.1', resolve)
  })
  const timer = setInterval(tick, EVERY_MS)
  timer.unref()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    get clients() {
      return clients.size
    },
    close() {
      clearInterval(timer)
      for (const client of clients) client.end()
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
