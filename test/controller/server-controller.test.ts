import { afterEach, describe, expect, it } from 'vitest'
import {
  createServerController,
  isOf,
  type ServerController,
} from '../../src/controller/server-controller.js'
import { hasPython, startPeer, until } from './peers.js'
import { someConfig } from './some-config.js'

let controller: ServerController | undefined
let look: NodeJS.Timeout | undefined

afterEach(async () => {
  clearInterval(look)
  await controller?.stop()
  controller = undefined
})

describe('the engines of a server', () => {
  it('are those of its name and its replicas', () => {
    const all = ['x', 'x.1', 'x.12', 'x.old', 'xy', 'x.1.2', 'y.1', 'x.']
    expect(all.filter((segment) => isOf(segment, 'x'))).toEqual(['x', 'x.1', 'x.12'])
  })

  it.skipIf(!hasPython)(
    'are steered by one controller, with one budget, and a replica of the last stage may answer for any of them',
    async () => {
      const name = `server-${process.pid}`
      const [first, second, stage] = [
        await startPeer(name),
        await startPeer(`${name}.1`),
        await startPeer(`${name}.1`, 1),
      ]
      controller = createServerController({
        name,
        config: someConfig({ longPathCap: 3 }),
        mode: 'published',
        log: () => {},
      })
      const steered = controller
      expect(steered.attach()).toBe(true)
      look = setInterval(() => steered.watch(), 50)
      await until(() => steered.report()?.engines?.length === 2)
      expect(steered.report()).toMatchObject({ unprotected: 0 })
      // Speech comes in through the first engine, and the replica of the last stage that belongs to the second goes on with it.
      first.tell('arrive 1 1 40')
      first.tell('admit 1')
      // What is left of the budget to the second engine.
      await until(async () => (await second.ask('state')).longCap === 2)
      first.tell('first 1')
      first.tell('finish 1')
      await until(() => steered.report()?.longDownstream === 1)
      stage.tell('first 1')
      stage.tell('finish 1')
      await until(() => steered.report()?.requests.live === 0)
      expect(steered.report()).toMatchObject({
        longDownstream: 0,
        strangers: 0,
        requests: { arrived: 1, finished: 1, aborted: 0, live: 0 },
      })
      for (const each of [stage, second, first]) await each.end()
    },
  )
})
