/**
 * @module
 * A fleet on one machine: endpoints, a picker, a real Envoy with the configuration of `examples/fleet`, ports put in.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../src/config-file.js'
import {
  createPicker,
  type ExtProcServer,
  fileEndpoints,
  type Picker,
  type PickerOptions,
  serveExtProc,
} from '../../src/fleet/index.js'

export const CONFIG = 'examples/fleet/horizon.yaml'

export interface TestEndpoint {
  readonly address: string
  readonly metricsUrl?: string
  close(): Promise<void>
}

/** A server that says what it got. */
export interface PlainEndpoint extends TestEndpoint {
  readonly seen: { readonly path: string; readonly headers: IncomingHttpHeaders }[]
}

export interface TwinEndpoint extends TestEndpoint {
  readonly child: ChildProcess
}

export async function until(what: string, is: () => boolean | Promise<boolean>, ms = 60_000) {
  const end = Date.now() + ms
  while (!(await is())) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain: ${what}`)
    await sleep(20)
  }
}

export async function freePort(): Promise<number> {
  const server = createSocketServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export async function plainEndpoint(metrics = ''): Promise<PlainEndpoint> {
  const seen: PlainEndpoint['seen'] = []
  const server: Server = createServer((request, response) => {
    if (request.url === '/metrics') return void response.end(metrics)
    seen.push({ path: request.url ?? '', headers: request.headers })
    const hash = createHash('sha256')
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ bytes, sha256: hash.digest('hex'), port }))
    })
  })
  server.on('upgrade', (request, socket) => {
    seen.push({ path: request.url ?? '', headers: request.headers })
    socket.on('error', () => {})
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    )
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${port}`,
    seen,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A twin in a process of its own: a simulated model, the real scheduler, real time. */
export async function twinEndpoint(port = 0): Promise<TwinEndpoint> {
  const args = ['--import', 'tsx', 'src/cli/main.ts', 'twin', '--json', '--port', String(port)]
  const child = spawn(process.execPath, [...args, '--config', CONFIG], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const found = /"url":"http:\/\/([^"]+)"/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`the twin ended: ${code}`)))
  })
  return {
    address: url,
    child,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    },
  }
}

export interface Scene {
  readonly url: string
  readonly port: number
  readonly picker: Picker
  readonly server: ExtProcServer
  readonly folder: string
  /** Both lists, Envoy's and the picker's, replaced by rename. */
  setEndpoints(endpoints: readonly TestEndpoint[]): void
  close(): Promise<void>
}

export interface SceneOptions {
  readonly envoy: string
  readonly endpoints: readonly TestEndpoint[]
  readonly picker?: Partial<Omit<PickerOptions, 'config' | 'endpoints'>>
  readonly maxBodyBytes?: number
  /** Ports of pickers elsewhere, instead of one in this process. */
  readonly pickerPorts?: readonly number[]
  /** Ready is what these say, not the picker. */
  readonly expectReady?: number
}

export async function openScene(options: SceneOptions): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'horizon-fleet-'))
  const list = join(folder, 'picker.json')
  const setEndpoints = (endpoints: readonly TestEndpoint[]): void => {
    replace(folder, 'endpoints.json', edsOf(endpoints))
    replace(folder, 'picker.json', {
      endpoints: endpoints.map(({ address, metricsUrl }) => ({
        address,
        ...(metricsUrl === undefined ? {} : { metricsUrl }),
      })),
    })
  }
  setEndpoints(options.endpoints)
  const picker = createPicker({
    config: await readConfig(CONFIG),
    endpoints: fileEndpoints(list),
    ...options.picker,
  })
  const server = await serveExtProc({
    picker,
    listen: '127.0.0.1:0',
    ...(options.maxBodyBytes === undefined ? {} : { maxBodyBytes: options.maxBodyBytes }),
  })
  const port = await freePort()
  const pickerPorts = options.pickerPorts ?? [server.port]
  const config = readFileSync('examples/fleet/envoy.yaml', 'utf8')
    .replace('port_value: 10000', `port_value: ${port}`)
    .replace(/( +- endpoint: .*)port_value: 9002 } } }/, (_line, head: string) =>
      pickerPorts.map((of) => `${head}port_value: ${of} } } }`).join('\n'),
    )
    .replace('path: endpoints.json', `path: ${join(folder, 'endpoints.json')}`)
    .replace('{ path: . }', `{ path: ${folder} }`)
  writeFileSync(join(folder, 'envoy.yaml'), config)
  const child = spawn(
    options.envoy,
    [
      '-c',
      join(folder, 'envoy.yaml'),
      '--use-dynamic-base-id',
      '--concurrency',
      '1',
      '-l',
      'error',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  const url = `http://127.0.0.1:${port}`
  await until('Envoy listens', async () => {
    if (child.exitCode !== null) throw new Error(`Envoy ended: ${child.exitCode}`)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  const ready = options.expectReady ?? options.endpoints.length
  await until('endpoints are ready', () => picker.numReady >= ready)
  return {
    url,
    port,
    picker,
    server,
    folder,
    setEndpoints,
    async close() {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** As an editor or a mount does it: written beside, renamed over. */
function replace(folder: string, name: string, value: unknown): void {
  writeFileSync(join(folder, `${name}.new`), JSON.stringify(value))
  renameSync(join(folder, `${name}.new`), join(folder, name))
}

export function edsOf(endpoints: readonly TestEndpoint[]): object {
  return {
    version_info: String(Date.now()),
    resources: [
      {
        '@type': 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
        cluster_name: 'engines',
        endpoints: [
          {
            lb_endpoints: endpoints.map(({ address }) => ({
              endpoint: {
                address: {
                  socket_address: {
                    address: address.split(':')[0],
                    port_value: Number(address.split(':')[1]),
                  },
                },
              },
            })),
          },
        ],
      },
    ],
  }
}
