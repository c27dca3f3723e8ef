/**
 * @module
 * What is asked of Envoy, picker and endpoints together.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { loadGrpc } from '../../src/fleet/load-grpc.js'
import { FAULT_CASES } from './fault-cases.js'
import { openScene, plainEndpoint, type Scene, twinEndpoint, until } from './scene.js'

export interface FleetCase {
  readonly name: string
  run(envoy: string): Promise<void>
}

export function chat(scene: Scene, more: object = {}, init: RequestInit = {}): Promise<Response> {
  return post(
    scene,
    '/v1/chat/completions',
    {
      model: 'twin',
      stream: true,
      max_tokens: 4,
      messages: [{ role: 'user', content: 'hello' }],
      ...more,
    },
    init,
  )
}

export function post(
  scene: Scene,
  path: string,
  body: object,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(scene.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  })
}

const streams: FleetCase = {
  name: 'chat streams, raw speech and images through two twins',
  async run(envoy) {
    const twins = await Promise.all([twinEndpoint(), twinEndpoint()])
    const scene = await openScene({ envoy, endpoints: twins })
    try {
      const chats = await Promise.all(Array.from({ length: 12 }, () => chat(scene)))
      for (const answer of chats) {
        assert.equal(answer.status, 200)
        assert.match(await answer.text(), /data: \[DONE\]/)
      }
      const speech = await post(scene, '/v1/audio/speech', {
        model: 'twin',
        input: 'Good morning to everybody.',
        response_format: 'pcm',
        stream: true,
        stream_format: 'audio',
      })
      assert.equal(speech.status, 200)
      assert.ok((await speech.arrayBuffer()).byteLength > 1000)
      const image = await post(scene, '/v1/images/generations', { model: 'twin', prompt: 'a hill' })
      assert.equal(image.status, 200)
      const { data } = (await image.json()) as { data: { b64_json: string }[] }
      assert.equal(Buffer.from(data[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4), 'PNG')
      assert.equal(scene.picker.picked >= 14, true)
      // The picker hears of every end without a byte of any answer.
      await until('every request has ended', () => scene.picker.underWay === 0)
    } finally {
      await scene.close()
      await Promise.all(twins.map((twin) => twin.close()))
    }
  },
}

const bodies: FleetCase = {
  name: 'a body of 900 kB arrives whole',
  async run(envoy) {
    const endpoint = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [endpoint] })
    try {
      const body = randomBytes(900_000)
      const init = { method: 'POST', headers: { 'content-type': 'application/octet-stream' } }
      const answer = await fetch(`${scene.url}/v1/audio/transcriptions`, { ...init, body })
      assert.equal(answer.status, 200)
      const { bytes, sha256 } = (await answer.json()) as { bytes: number; sha256: string }
      assert.equal(bytes, body.length)
      assert.equal(sha256, createHash('sha256').update(body).digest('hex'))
    } finally {
      await scene.close()
      await endpoint.close()
    }
  },
}

const upgrade: FleetCase = {
  name: 'a websocket upgrade goes through, both ways',
  async run(envoy) {
    const endpoint = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [endpoint] })
    try {
      const text = await new Promise<string>((resolve, reject) => {
        const socket = connect(scene.port, '127.0.0.1')
        let got = ''
        socket.setTimeout(20_000, () => reject(new Error(`no echo: ${got}`)))
        socket.on('error', reject)
        socket.on('data', (chunk) => {
          got += chunk.toString()
          if (got.includes('\r\n\r\n') && !got.includes('frame')) socket.write('a frame')
          if (got.endsWith('a frame')) {
            socket.destroy()
            resolve(got)
          }
        })
        socket.write(
          'GET /v1/realtime HTTP/1.1\r\nhost: fleet\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
        )
      })
      assert.match(text, /101 Switching/)
      await until('the picker hears of the end', () => scene.picker.underWay === 0)
    } finally {
      await scene.close()
      await endpoint.close()
    }
  },
}

const forged: FleetCase = {
  name: 'a forged destination, and headers that nobody may set, have no effect',
  async run(envoy) {
    const [real, decoy] = await Promise.all([plainEndpoint(), plainEndpoint()])
    const scene = await openScene({ envoy, endpoints: [real] })
    try {
      const answer = await chat(
        scene,
        {},
        {
          headers: {
            'x-gateway-destination-endpoint': decoy.address,
            'x-llm-d-slo-ttft-ms': '1',
            'x-horizonserve-class': 'image',
          },
        },
      )
      assert.equal(answer.status, 200)
      assert.equal(decoy.seen.length, 0)
      const got = real.seen.at(-1)?.headers ?? {}
      assert.equal(got['x-gateway-destination-endpoint'], real.address)
      assert.equal(got['x-llm-d-slo-ttft-ms'], undefined)
      assert.equal(got['x-horizonserve-class'], undefined)
    } finally {
      await scene.close()
      await Promise.all([real.close(), decoy.close()])
    }
  },
}

/** A page on which every slot is held and a queue waits: text would answer in 9 s. */
const FULL_PAGE = `horizonserve_expected_first_response_ms{class="text"} 9000
horizonserve_in_shared_stage{class="text"} 4
horizonserve_waiting{class="text"} 6
horizonserve_capacity_rate 0.8
horizonserve_slots 4
`

const refusals: FleetCase = {
  name: '429 with Retry-After where every endpoint would lose the request, 503 where none is ready',
  async run(envoy) {
    const endpoint = await plainEndpoint(FULL_PAGE)
    const scene = await openScene({
      envoy,
      endpoints: [endpoint],
      picker: { shed: ['text'], trust: 'trusted-hops', trustedHops: ['127.0.0.0/8'] },
    })
    try {
      const shed = await chat(scene)
      assert.equal(shed.status, 429)
      assert.ok(Number(shed.headers.get('retry-after')) >= 1)
      // From a trusted hop: with a minute to spare it is taken.
      const patient = await chat(scene, {}, { headers: { 'x-slo-ttft-ms': '60000' } })
      assert.equal(patient.status, 200)
      // A class that does not say shed is never refused.
      const image = await post(scene, '/v1/images/generations', { prompt: 'a hill' })
      assert.equal(image.status, 200)
      scene.setEndpoints([])
      await until('no endpoint is left', () => scene.picker.numReady === 0)
      assert.equal((await chat(scene)).status, 503)
    } finally {
      await scene.close()
      await endpoint.close()
    }
  },
}

const health: FleetCase = {
  name: 'gRPC health: liveness always, readiness and the service while an endpoint is ready',
  async run(envoy) {
    const endpoint = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [endpoint] })
    const { js, health: service } = await loadGrpc()
    const Client = js.makeGenericClientConstructor(service, 'health')
    const client = new Client(`127.0.0.1:${scene.server.port}`, js.credentials.createInsecure())
    const check = (name: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const call = client.Check as (
          of: object,
          back: (error: Error | null, reply: { status: number }) => void,
        ) => void
        call.call(client, { service: name }, (error, reply) =>
          error === null ? resolve(reply.status) : reject(error),
        )
      })
    const picking = 'envoy.service.ext_proc.v3.ExternalProcessor'
    try {
      assert.equal(await check('liveness'), 1)
      assert.equal(await check('readiness'), 1)
      assert.equal(await check(picking), 1)
      scene.setEndpoints([])
      await until('no endpoint is left', () => scene.picker.numReady === 0)
      assert.equal(await check('liveness'), 1)
      assert.equal(await check('readiness'), 2)
      assert.equal(await check(picking), 2)
      await assert.rejects(check('nonsense'))
    } finally {
      client.close()
      await scene.close()
      await endpoint.close()
    }
  },
}

export const CASES: readonly FleetCase[] = [
  streams,
  bodies,
  upgrade,
  forged,
  refusals,
  health,
  ...FAULT_CASES,
]
