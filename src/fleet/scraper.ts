/**
 * @module
 * Scrapes one endpoint again and again. An endpoint that cannot be reached is not ready at once; one that does not answer in time keeps
 * its place, its last page grows old, and what this picker sees itself is all that speaks for it.
 */
import { Agent, get } from 'node:http'
import { get as getSecurely } from 'node:https'
import type { EndpointSample } from '../policies/index.js'
import { readMetricsPage } from './metrics-page.js'

export interface ScraperOptions {
  readonly url: string
  /** Between two scrapes, ms. */
  readonly everyMs: number
  readonly classIndex: ReadonlyMap<string, number>
  /** 1 for a long-path class. */
  readonly isLong: ArrayLike<number>
  readonly sample: EndpointSample
  /** About to ask. */
  readonly onAsk: () => void
  /** `sample` is filled in; `knows` is whether the page keeps the metrics contract. */
  readonly onPage: (knows: boolean) => void
  /** Nobody listens there, or the answer was no page. */
  readonly onGone: () => void
}

export interface Scraper {
  stop(): void
}

const LONGEST_MS = 2000
const MOST_BYTES = 4 << 20

export function startScraper(options: ScraperOptions): Scraper {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const fetchPage = options.url.startsWith('https:') ? getSecurely : get
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let abort: (() => void) | undefined

  const again = (): void => {
    abort = undefined
    if (!stopped) timer = setTimeout(ask, options.everyMs)
  }
  const ask = (): void => {
    let settled = false
    const settle = (then: () => void): void => {
      if (settled) return
      settled = true
      clearTimeout(limit)
      if (!stopped) then()
      again()
    }
    options.onAsk()
    const request = fetchPage(
      options.url,
      options.url.startsWith('https:') ? {} : { agent },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MOST_BYTES) request.destroy()
          else chunks.push(chunk)
        })
        response.on('end', () =>
          settle(() => {
            if (response.statusCode !== 200) options.onGone()
            else {
              const text = Buffer.concat(chunks).toString('utf8')
              options.onPage(
                readMetricsPage(text, options.classIndex, options.isLong, options.sample),
              )
            }
          }),
        )
        response.on('error', () => settle(() => {}))
      },
    )
    // An answer that is late is no answer: the page stays as old as it is.
    const limit = setTimeout(() => {
      settle(() => {})
      request.destroy()
    }, LONGEST_MS)
    request.on('error', (error: NodeJS.ErrnoException) =>
      settle(() => {
        if (error.code === 'ECONNREFUSED' || error.code === 'EHOSTUNREACH') options.onGone()
      }),
    )
    abort = () => request.destroy()
  }
  ask()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
      abort?.()
      agent.destroy()
    },
  }
}
