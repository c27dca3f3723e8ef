/**
 * @module
 * The picker: endpoints as they come and go, their scrapes, and the decision. Knows nothing of gRPC; `ext-proc-server.ts` does.
 */
import { BlockList, isIP } from 'node:net'
import type { HorizonConfig } from '../config.js'
import { parseConfig } from '../config.js'
import { HorizonError } from '../core/errors.js'
import {
  createEndpointBook,
  createPick,
  type EndpointRule,
  emptySample,
  endpointRule,
  type PickRequest,
  pickEndpoint,
} from '../policies/index.js'
import type { Endpoint, EndpointSource } from './endpoint-list.js'
import { createFactsReader } from './request-facts.js'
import { type Scraper, startScraper } from './scraper.js'

/** Who may set an SLO or a class: nobody, whoever speaks from an address listed in `trustedHops`, or everybody. */
export type Trust = 'none' | 'trusted-hops' | 'all'

export interface PickerOptions {
  readonly config: HorizonConfig
  readonly endpoints: EndpointSource
  readonly rule?: EndpointRule
  /** Between two scrapes of an endpoint, ms. @default 50 */
  readonly scrapeMs?: number
  /** @default 'none' */
  readonly trust?: Trust
  /** Addresses or networks (`10.0.0.0/8`) of hops that are trusted. */
  readonly trustedHops?: readonly string[]
  /** Classes of which a request is refused when every endpoint would lose it. @default none */
  readonly shed?: readonly string[]
  readonly onTrouble?: (text: string) => void
}

/** A request as the gateway shows it. */
export interface PickQuestion {
  readonly path: string
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** Address of whoever connected to the gateway, as the gateway says; empty where it says nothing. */
  readonly source: string
  /** Endpoints that may be taken; empty for all. */
  readonly subset: readonly string[]
}

export type PickAnswer =
  | {
      readonly kind: 'endpoint'
      /** The endpoint, then those to fall back on. */
      readonly addresses: readonly string[]
      /** Tell the first response and the end of the request, once each. */
      readonly responded: () => void
      readonly ended: () => void
    }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'shed'; readonly retryAfterS: number }

export interface Picker {
  /** Number of endpoints that are ready. */
  readonly numReady: number
  /** Requests under way. */
  readonly underWay: number
  readonly picked: number
  isTrusted(source: string): boolean
  pick(question: PickQuestion): PickAnswer
  stop(): void
}

/** Sessions that are remembered; the oldest is forgotten first. */
const MOST_SESSIONS = 10_000
/** Endpoints named after the first. */
const FALLBACKS = 2
const MOST_ENDPOINTS = 1024
const LONGEST_RETRY_S = 60

/** Throws `ERR_FLEET_OPTION` for an unknown class or a hop that is no address, and what reading the configuration throws. */
export function createPicker(options: PickerOptions): Picker {
  const { config, rule = endpointRule(), scrapeMs = 50, trust = 'none' } = options
  const { classes } = parseConfig(config)
  const classIndex = new Map(classes.map(({ name }, c) => [name as string, c]))
  const sheds = Uint8Array.from(classes, () => 0)
  for (const name of options.shed ?? []) {
    const c = classIndex.get(name)
    if (c === undefined) throw wrong('shed', [...classIndex.keys()].join(', '), name)
    sheds[c] = 1
  }
  const hops = blockList(options.trustedHops ?? [])
  if (trust === 'trusted-hops' && (options.trustedHops ?? []).length === 0)
    throw wrong('trustedHops', 'at least one address or network', undefined)
  const readFacts = createFactsReader(config)
  const book = createEndpointBook(classes, MOST_ENDPOINTS)
  const places = new Map<string, { readonly place: number; readonly scraper: Scraper }>()
  const addressAt: string[] = []
  const sessions = new Map<string, number>()
  const request: PickRequest = { classIndex: 0, budgetMs: 0, affinity: -1, allowed: undefined }
  const out = createPick()
  const subset = new Uint8Array(MOST_ENDPOINTS)
  let underWay = 0
  let picked = 0

  const change = (endpoints: readonly Endpoint[]): void => {
    const wanted = new Map(endpoints.map((of) => [of.address, of]))
    for (const [address, { place, scraper }] of places) {
      if (wanted.has(address)) continue
      scraper.stop()
      book.remove(place)
      places.delete(address)
    }
    for (const { address, metricsUrl } of endpoints) {
      if (places.has(address)) continue
      const place = book.add()
      // Ready once it has answered.
      book.ready[place] = 0
      addressAt[place] = address
      const sample = emptySample(classes.length)
      const scraper = startScraper({
        url: metricsUrl,
        everyMs: scrapeMs,
        classIndex,
        isLong: book.isLong,
        sample,
        onAsk: () => book.beginScrape(place, performance.now()),
        onPage(knows) {
          book.ready[place] = 1
          if (knows) book.endScrape(place, sample)
        },
        onGone() {
          book.ready[place] = 0
        },
      })
      places.set(address, { place, scraper })
    }
  }

  const isTrusted = (source: string): boolean => {
    if (trust !== 'trusted-hops') return trust === 'all'
    const family = isIP(source)
    return family !== 0 && hops.check(source, family === 6 ? 'ipv6' : 'ipv4')
  }

  const allow = (names: readonly string[]): Uint8Array | undefined => {
    if (names.length === 0) return undefined
    subset.fill(0)
    for (const name of names) {
      const found = places.get(name)
      if (found !== undefined) subset[found.place] = 1
    }
    return subset
  }

  const fallbacks = (first: number, nowMs: number): string[] => {
    const addresses = [addressAt[first]!]
    const allowed = request.allowed ?? subset.fill(1)
    for (let k = 0; k < FALLBACKS; k++) {
      allowed[out.endpoint] = 0
      request.allowed = allowed
      request.affinity = -1
      pickEndpoint(rule, book, request, nowMs, Math.random(), out)
      if (out.endpoint < 0) break
      addresses.push(addressAt[out.endpoint]!)
    }
    return addresses
  }

  options.endpoints.start(change)

  return {
    get numReady() {
      let n = 0
      for (let e = 0; e < book.size; e++) n += book.ready[e]!
      return n
    },
    get underWay() {
      return underWay
    },
    get picked() {
      return picked
    },
    isTrusted,
    pick({ path, headers, body, source, subset: names }) {
      const facts = readFacts({ path, headers, body, trusted: isTrusted(source) })
      const c = facts.classIndex
      const nowMs = performance.now()
      const budgetMs = facts.sloMs ?? classes[c]!.sloMs
      request.classIndex = c
      request.budgetMs = budgetMs
      request.affinity = facts.session === '' ? -1 : (sessions.get(facts.session) ?? -1)
      request.allowed = allow(names)
      pickEndpoint(rule, book, request, nowMs, Math.random(), out)
      const { endpoint, predictedMs, meets, makes } = out
      if (endpoint < 0) return { kind: 'unavailable' }
      if (!makes && sheds[c] === 1) {
        const late = Math.ceil((predictedMs - budgetMs) / 1000)
        return { kind: 'shed', retryAfterS: Math.min(LONGEST_RETRY_S, Math.max(1, late)) }
      }
      const addresses = fallbacks(endpoint, nowMs)
      if (facts.session !== '') remember(sessions, facts.session, endpoint)
      book.sent(endpoint, c)
      underWay += 1
      picked += 1
      let isOpen = true
      let isSilent = true
      return {
        kind: 'endpoint',
        addresses,
        responded() {
          if (!isSilent) return
          isSilent = false
          if (meets) book.responded(endpoint, performance.now() - nowMs, predictedMs)
        },
        ended() {
          if (!isOpen) return
          isOpen = false
          underWay -= 1
          book.ended(endpoint, c)
        },
      }
    },
    stop() {
      options.endpoints.stop()
      for (const { scraper } of places.values()) scraper.stop()
      places.clear()
    },
  }
}

function remember(sessions: Map<string, number>, session: string, endpoint: number): void {
  sessions.delete(session)
  sessions.set(session, endpoint)
  if (sessions.size <= MOST_SESSIONS) return
  const oldest = sessions.keys().next().value
  if (oldest !== undefined) sessions.delete(oldest)
}

function blockList(hops: readonly string[]): BlockList {
  const list = new BlockList()
  for (const hop of hops) {
    const [address = '', bits] = hop.split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    const prefix = bits === undefined ? most : Number(bits)
    if (family === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
      throw wrong('trustedHops', 'addresses or networks such as 10.0.0.0/8', hop)
    list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

function wrong(field: string, expected: string, got: unknown): HorizonError {
  return new HorizonError('ERR_FLEET_OPTION', 'wrong option of the picker', {
    field,
    expected,
    got,
  })
}
