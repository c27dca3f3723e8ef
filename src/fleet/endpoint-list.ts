/**
 * @module
 * Where endpoints come from: a list that never changes, or a file that is watched. The file is YAML or JSON, in our own short form or
 * as an Envoy endpoint discovery file, so that one file can serve both. A file that cannot be read or is wrong changes nothing.
 */
import { readFileSync, watch } from 'node:fs'
import { isIP } from 'node:net'
import { basename, dirname } from 'node:path'
import { parse } from 'yaml'
import { HorizonError } from '../core/errors.js'

export interface Endpoint {
  /** `ip:port`, as the gateway connects to it. */
  readonly address: string
  /** Page with its metrics. */
  readonly metricsUrl: string
}

export interface EndpointSource {
  /** Calls back at once with what there is, and on every change. */
  start(onChange: (endpoints: readonly Endpoint[]) => void): void
  stop(): void
}

/** `ip:port` or `ip:port=metrics URL`, separated by commas. Throws `ERR_FLEET_ENDPOINTS`. */
export function parseEndpoints(text: string): Endpoint[] {
  return text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [address = '', ...url] = part.trim().split('=')
      return endpointOf(address, url.length === 0 ? undefined : url.join('='), 'endpoints')
    })
}

export function staticEndpoints(endpoints: readonly Endpoint[]): EndpointSource {
  return { start: (onChange) => onChange(endpoints), stop() {} }
}

/** Time that writers get to finish, and how often the file is looked at even without a notice (mounts that swap links send none). */
const SETTLE_MS = 20
const LOOK_MS = 1000

/** Watches a file; renames over it are followed. Throws `ERR_FLEET_ENDPOINTS` when the first reading fails. */
export function fileEndpoints(
  path: string,
  onError: (error: Error) => void = () => {},
): EndpointSource {
  let seen: string | undefined
  let stop = (): void => {}
  return {
    start(onChange) {
      const look = (): void => {
        const text = readFileSync(path, 'utf8')
        if (text === seen) return
        const endpoints = readEndpoints(text, path)
        seen = text
        onChange(endpoints)
      }
      const lookAgain = (): void => {
        try {
          look()
        } catch (error) {
          onError(error as Error)
        }
      }
      try {
        look()
      } catch (cause) {
        if (cause instanceof HorizonError) throw cause
        throw new HorizonError('ERR_FLEET_ENDPOINTS', 'the file cannot be read', {
          field: path,
          expected: 'a list of endpoints, YAML or JSON',
          got: (cause as NodeJS.ErrnoException).code,
          cause,
        })
      }
      let pending: NodeJS.Timeout | undefined
      // The folder, not the file: a file that replaces it is another one.
      const watcher = watch(dirname(path), (_kind, name) => {
        if (name !== null && name !== basename(path) && !name.startsWith('..')) return
        clearTimeout(pending)
        pending = setTimeout(lookAgain, SETTLE_MS)
      })
      watcher.on('error', onError)
      const timer = setInterval(lookAgain, LOOK_MS)
      stop = () => {
        clearTimeout(pending)
        clearInterval(timer)
        watcher.close()
      }
    },
    stop: () => stop(),
  }
}

/** The endpoints that a file names. Throws `ERR_FLEET_ENDPOINTS` with the place that is wrong. */
export function readEndpoints(text: string, path: string): Endpoint[] {
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    throw wrong(path, 'YAML or JSON', undefined, cause)
  }
  if (!isRecord(value)) throw wrong(path, 'an object with "endpoints"', value)
  const found = Array.isArray(value.resources)
    ? value.resources.flatMap((resource, i) => discovered(resource, `${path}: resources[${i}]`))
    : listed(value.endpoints, `${path}: endpoints`)
  const addresses = new Set(found.map((of) => of.address))
  if (addresses.size !== found.length)
    throw wrong(path, 'every address once', `${found.length} endpoints`)
  return found
}

function listed(entries: unknown, field: string): Endpoint[] {
  if (!Array.isArray(entries)) throw wrong(field, 'a list', entries)
  return entries.map((entry, i) => {
    const at = `${field}[${i}]`
    if (typeof entry === 'string') return endpointOf(entry, undefined, at)
    if (!isRecord(entry)) throw wrong(at, 'an address or an object', entry)
    const { address, port, metricsUrl } = entry
    if (metricsUrl !== undefined && typeof metricsUrl !== 'string')
      throw wrong(`${at}.metricsUrl`, 'a URL', metricsUrl)
    return endpointOf(
      port === undefined ? String(address) : joined(String(address), String(port)),
      metricsUrl,
      at,
    )
  })
}

/** Envoy's `ClusterLoadAssignment`. */
function discovered(resource: unknown, field: string): Endpoint[] {
  const groups = isRecord(resource) ? resource.endpoints : undefined
  if (!Array.isArray(groups)) throw wrong(`${field}.endpoints`, 'a list', groups)
  return groups.flatMap((group, g) => {
    const members = isRecord(group) ? group.lb_endpoints : undefined
    if (!Array.isArray(members))
      throw wrong(`${field}.endpoints[${g}].lb_endpoints`, 'a list', members)
    return members.map((member, m) => {
      const at = `${field}.endpoints[${g}].lb_endpoints[${m}]`
      const endpoint = isRecord(member) ? member.endpoint : undefined
      const address = isRecord(endpoint) ? endpoint.address : undefined
      const socket = isRecord(address) ? address.socket_address : undefined
      if (!isRecord(socket))
        throw wrong(`${at}.endpoint.address.socket_address`, 'an object', socket)
      return endpointOf(joined(String(socket.address), String(socket.port_value)), undefined, at)
    })
  })
}

function joined(host: string, port: string): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

function endpointOf(address: string, metricsUrl: string | undefined, field: string): Endpoint {
  const parts = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(address)
  const port = Number(parts?.[3])
  if (parts === null || isIP(parts[1] ?? parts[2] ?? '') === 0 || port < 1 || port > 65_535)
    throw wrong(field, 'ip:port', address)
  const url = metricsUrl ?? `http://${address}/metrics`
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw wrong(`${field} metrics`, 'a URL', url)
  return { address, metricsUrl: url }
}

function wrong(field: string, expected: string, got: unknown, cause?: unknown): HorizonError {
  return new HorizonError('ERR_FLEET_ENDPOINTS', 'wrong list of endpoints', {
    field,
    expected,
    got,
    ...(cause === undefined ? {} : { cause }),
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
