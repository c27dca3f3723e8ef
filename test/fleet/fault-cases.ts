/**
 * @module
 * What goes wrong in a fleet: endpoints and pickers die, lists change, clients leave. Five times each, 200 with `HORIZON_LONG=1`.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetCase } from './cases.js'
import { openScene, plainEndpoint, type Scene, until } from './scene.js'

const ROUNDS = process.env.HORIZON_LONG === undefined ? 5 : 200

const ask = (scene: Scene, init: RequestInit = {}): Promise<number> =>
  fetch(`${scene.url}/v1/chat/completions`, { method: 'POST', body: '{}', ...init }).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
  )

/** Requests one after the other on four connections, until told to stop; the statuses they got. */
function load(scene: Scene): () => Promise<number[]> {
  const statuses: number[] = []
  let goes = true
  const clients = Array.from({ length: 4 }, async () => {
    while (goes) statuses.push(await ask(scene).catch(() => 0))
  })
  return async () => {
    goes = false
    await Promise.all(clients)
    return statuses
  }
}

const endpointDies: FleetCase = {
  name: `an endpoint dies under load, ${ROUNDS} times: no request without a first byte is lost`,
  async run(envoy) {
    const stays = await plainEndpoint()
    const first = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [stays, first] })
    let dies = first
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const end = load(scene)
        await sleep(50)
        await dies.close()
        await until('the picker knows', () => scene.picker.numReady === 1)
        const statuses = await end()
        assert.ok(statuses.length > 0)
        assert.deepEqual([...new Set(statuses)], [200])
        dies = await plainEndpoint()
        scene.setEndpoints([stays, dies])
        await until('the next one is ready', () => scene.picker.numReady === 2)
      }
    } finally {
      await scene.close()
      await Promise.all([stays.close(), dies.close()])
    }
  },
}

const listChanges: FleetCase = {
  name: `the list of endpoints is replaced under load, ${ROUNDS} times: nothing fails`,
  async run(envoy) {
    const [a, b] = await Promise.all([plainEndpoint(), plainEndpoint()])
    const scene = await openScene({ envoy, endpoints: [a, b] })
    try {
      const end = load(scene)
      for (let round = 0; round < ROUNDS; round++) {
        scene.setEndpoints([round % 2 === 0 ? a : b])
        await until('one is left', () => scene.picker.numReady === 1)
        scene.setEndpoints([a, b])
        await until('both are back', () => scene.picker.numReady === 2)
      }
      assert.deepEqual([...new Set(await end())], [200])
    } finally {
      await scene.close()
      await Promise.all([a.close(), b.close()])
    }
  },
}

const pickerDies: FleetCase = {
  name: 'the picker dies: a clean 503',
  async run(envoy) {
    const endpoint = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [endpoint] })
    try {
      assert.equal(await ask(scene), 200)
      await scene.server.stop()
      for (let round = 0; round < ROUNDS; round++) assert.equal(await ask(scene), 503)
    } finally {
      await scene.close()
      await endpoint.close()
    }
  },
}

const clientsLeave: FleetCase = {
  name: `clients leave in the middle, ${ROUNDS} times ten: the picker forgets them`,
  async run(envoy) {
    const endpoint = await plainEndpoint()
    const scene = await openScene({ envoy, endpoints: [endpoint] })
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const controllers = Array.from({ length: 10 }, () => new AbortController())
        const asked = controllers.map(({ signal }) => ask(scene, { signal }).catch(() => 0))
        await sleep(2)
        for (const controller of controllers) controller.abort()
        await Promise.all(asked)
      }
      await until('nothing is under way', () => scene.picker.underWay === 0)
      await until('no stream is open', () => scene.server.open === 0)
    } finally {
      await scene.close()
      await endpoint.close()
    }
  },
}

export const FAULT_CASES: readonly FleetCase[] = [
  endpointDies,
  listChanges,
  pickerDies,
  clientsLeave,
]
