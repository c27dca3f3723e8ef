import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { segmentPath } from '../../src/adapters/discover.js'
import { type Controller, createController } from '../../src/controller/controller.js'
import { engineMetrics } from '../../src/controller/engine-metrics.js'
import type { LinkReport } from '../../src/controller/link-report.js'
import { mergeReports } from '../../src/controller/merge-reports.js'
import { metricsText, serveMetrics } from '../../src/controller/prometheus.js'
import { hasPython, type Peer, startPeer, until } from './peers.js'
import { someConfig } from './some-config.js'

let engine: Peer | undefined
let controller: Controller | undefined
const servers: Server[] = []
afterEach(async () => {
  await controller?.stop()
  controller = undefined
  await engine?.end()
  engine = undefined
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Samples by name and labels. Throws where a line is none, a metric is told of twice or its samples are apart. */
function samplesOf(page: string): Map<string, number> {
  const found = new Map<string, number>()
  const types = new Set<string>()
  let of = ''
  expect(page.endsWith('\n')).toBe(true)
  for (const line of page.trimEnd().split('\n')) {
    const type = /^# TYPE (\S+) (gauge|counter|histogram)$/.exec(line)
    if (type !== null) {
      of = type[1]!
      expect(types, `TYPE of ${of}`).not.toContain(of)
      types.add(of)
    } else if (!/^# HELP \S+ /.test(line)) {
      const sample = /^([a-zA-Z_:]\w*(?::\w+)?)(\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? (\S+)$/.exec(
        line,
      )
      expect(sample, line).not.toBeNull()
      expect([of, `${of}_bucket`, `${of}_sum`, `${of}_count`]).toContain(sample![1])
      const key = sample![1]! + (sample![2] ?? '')
      expect(found.has(key), key).toBe(false)
      found.set(key, Number(sample![3]))
    }
  }
  return found
}

/** The value without a label, then those of the two classes. */
function values(samples: Map<string, number>, name: string): (number | undefined)[] {
  const full = `horizonserve_${name}`
  return ['', '{class="text"}', '{class="speech"}'].map((labels) => samples.get(full + labels))
}

async function steer(label: string, order: 'arrival' | 'priority'): Promise<Controller> {
  const name = `test-${process.pid}-m${label}`
  engine = await startPeer(name)
  const made = createController({
    path: segmentPath(name),
    config: someConfig({ order, slots: 2, slotReserve: false }),
    log: () => {},
  })
  controller = made
  await until(() => made.attach())
  await until(() => made.report() !== undefined)
  return made
}

describe.skipIf(!hasPython)('the gauges of an endpoint', () => {
  it.each([
    ['published', 'arrival'],
    ['lockstep', 'priority'],
  ] as const)('tell what a request that arrived now would meet, %s', async (mode, order) => {
    const made = await steer(mode, order)
    expect(made.mode).toBe(mode)
    engine!.tell('arrive 1 0 40\narrive 2 1 40\narrive 3 1 40\nstep 1')
    await until(() => made.report()!.requests.arrived === 3)
    const before = samplesOf(metricsText(made.report(), 0n))
    expect(values(before, 'waiting')).toEqual([3, 1, 2])
    expect(values(before, 'in_flight')).toEqual([0, 0, 0])
    // Nobody was admitted: no slot is known to be held for any time. Work of 256 tokens, and for speech the two before it.
    const textMs = 5 + 25.6
    const speechMs = 10 + 51.2 + 100 + 2 * 100
    expect(values(before, 'expected_first_response_ms').map((ms) => Math.round(ms! * 10))).toEqual([
      Math.round(speechMs * 10),
      Math.round(textMs * 10),
      Math.round(speechMs * 10),
    ])
    const [least, ...each] = values(before, 'headroom_ratio')
    expect(each[0]).toBeCloseTo(1 - textMs / 200, 6)
    expect(each[1]).toBeCloseTo(1 - speechMs / 1000, 6)
    expect(least).toBe(Math.min(...(each as number[])))
    expect(values(before, 'capacity_rate').slice(0, 2)).toEqual([0, 0])
    expect(before.get('horizonserve_slots')).toBe(2)

    engine!.tell('admit 1\nadmit 2\nstep 2')
    await until(() => made.report()!.endpoint.inFlight[1] === 1)
    await until(() => made.report()!.endpoint.holdMs > 0)
    const after = samplesOf(metricsText(made.report(), 0n))
    expect(values(after, 'waiting')).toEqual([1, 0, 1])
    expect(values(after, 'in_flight')).toEqual([2, 1, 1])
    const [, textLater] = values(after, 'expected_first_response_ms')
    expect(textLater).toBeGreaterThan(textMs)
    expect(after.get('horizonserve_capacity_rate')).toBeGreaterThan(0)
  })

  it('are those of all engines of a server: what waits adds up, the slowest answer is told', async () => {
    const made = await steer('s', 'arrival')
    const one = made.report()!
    const part = (expectedMs: number, slots: number, holdMs: number): LinkReport => ({
      ...one,
      endpoint: { ...one.endpoint, expectedMs: [expectedMs, 7], waiting: [1, 2], slots, holdMs },
    })
    const both = mergeReports([
      { segment: 'a', report: part(100, 2, 500) },
      { segment: 'a.1', report: part(150, 4, 1000) },
    ])
    const samples = samplesOf(metricsText(both, 0n))
    expect(values(samples, 'waiting')).toEqual([6, 2, 4])
    expect(values(samples, 'expected_first_response_ms')).toEqual([150, 150, 7])
    expect(values(samples, 'headroom_ratio')[1]).toBe(0.25)
    expect(samples.get('horizonserve_slots')).toBe(6)
    expect(samples.get('horizonserve_capacity_rate')).toBeCloseTo(8, 9)
    for (const engine of ['a', 'a.1'])
      expect(samples.has(`horizonserve_applied_level{stage="0",engine="${engine}"}`)).toBe(true)
  })
})

const THEIRS =
  '# HELP vllm:num_requests_running Running.\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{stage="0",model_name="a b"} 3\n'

async function listen(server: Server): Promise<URL> {
  servers.push(server)
  if (!server.listening)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
}

const page = (body: string, status = 200): Promise<URL> =>
  listen(createServer((_, response) => response.writeHead(status).end(body)))

const read = async (url: URL): Promise<string> => (await fetch(url)).text()

describe('the page with the metrics of the engine', () => {
  it('is one page; what stands in both is ours', async () => {
    const url = await page(
      `${THEIRS}# TYPE horizonserve_slots gauge\nhorizonserve_slots 9\n# EOF\n`,
    )
    const text = await read(await listen(await serveMetrics(0, () => undefined, url)))
    const samples = samplesOf(text)
    expect(samples.get('horizonserve_engine_attached')).toBe(0)
    expect(samples.get('horizonserve_engine_metrics_up')).toBe(1)
    expect(samples.has('horizonserve_slots')).toBe(false)
    expect(text.endsWith(THEIRS)).toBe(true)
  })

  it('says nothing of an engine that nobody asked for', async () => {
    const text = await read(await listen(await serveMetrics(0, () => undefined)))
    expect(text).not.toContain('engine_metrics_up')
  })

  it('is ours alone where the engine is away, and whole again when it is back', async () => {
    const away = createServer((_, response) => response.end(THEIRS))
    const url = await listen(away)
    const port = Number(url.port)
    const ours = await listen(await serveMetrics(0, () => undefined, url))
    expect(samplesOf(await read(ours)).get('horizonserve_engine_metrics_up')).toBe(1)
    away.closeAllConnections()
    await new Promise((resolve) => away.close(resolve))
    const alone = samplesOf(await read(ours))
    expect(alone.get('horizonserve_engine_metrics_up')).toBe(0)
    expect(alone.get('horizonserve_engine_attached')).toBe(0)
    await new Promise<void>((resolve) => away.listen(port, '127.0.0.1', resolve))
    expect(samplesOf(await read(ours)).get('horizonserve_engine_metrics_up')).toBe(1)
  })

  it.each([
    ['an error', () => page('no such page\n', 404), {}],
    ['another kind of page', () => page('<html>\n<body>1</body>\n'), {}],
    ['more than the limit', () => page(THEIRS), { maxBytes: 20 }],
    ['no answer in time', () => listen(createServer(() => {})), { timeoutMs: 50 }],
    [
      'half an answer in time',
      () => listen(createServer((_, response) => void response.write(THEIRS))),
      { timeoutMs: 50 },
    ],
  ])('leaves out %s', async (_, at, limits) => {
    const text = await engineMetrics(await at(), limits)
    expect([...samplesOf(text)]).toEqual([['horizonserve_engine_metrics_up', 0]])
  })

  it('does not go round where it is told to merge itself', async () => {
    const self = new URL('http://127.0.0.1/metrics')
    const url = await listen(await serveMetrics(0, () => undefined, self))
    // The server keeps this object and reads it at each scrape.
    self.port = url.port
    const samples = samplesOf(await read(url))
    expect(samples.get('horizonserve_engine_metrics_up')).toBe(1)
  })
})
