import { afterEach, describe, expect, it } from 'vitest'
import { segmentPath } from '../../src/adapters/discover.js'
import {
  BANK_BYTES,
  BOUNDARY_OFFSET,
  CLASSES_OFFSET,
  CONTROLLER_OFFSET,
  HEADER_BYTES,
  RINGS_OFFSET,
} from '../../src/adapters/layout.js'
import { type Controller, createController } from '../../src/controller/controller.js'
import { createLinkHealth } from '../../src/controller/link-health.js'
import { hasPython, type Peer, startPeer, until } from './peers.js'
import { someConfig } from './some-config.js'

let peer: Peer | undefined
let controller: Controller | undefined
afterEach(async () => {
  await controller?.stop()
  await peer?.end()
})

async function steer(label: string, order: 'arrival' | 'priority') {
  const name = `test-${process.pid}-${label}`
  const engine = await startPeer(name)
  peer = engine
  const said: string[] = []
  const made = createController({
    path: segmentPath(name),
    config: someConfig({ order }),
    log: (_, text) => said.push(text),
  })
  controller = made
  await until(() => made.attach())
  await until(async () => (await engine.ask('state')).mode !== 0)
  const poke = (at: number, byte: number): void => engine.tell(`poke ${at} ${byte}`)
  return { engine, made, poke, said }
}

describe.skipIf(!hasPython)('a segment that somebody damages', () => {
  it('is put right, and told of in one line', async () => {
    const { engine, made, poke, said } = await steer('h', 'arrival')
    poke(CLASSES_OFFSET + 40, 0)
    await until(() => said.some((text) => text.includes('the class descriptions overwritten')))
    expect(await engine.ask('state')).toMatchObject({ mode: 1, readable: true })

    const published = made.report()!.published
    for (const bank of [0, 1]) poke(HEADER_BYTES + bank * BANK_BYTES + 33, 200)
    await until(() => made.report()!.overwritten >= 2)
    expect(made.report()!.published).toBeGreaterThanOrEqual(published)
    poke(CONTROLLER_OFFSET + 12, 9)
    await until(async () => (await engine.ask('state')).mode === 1)
    await until(() => made.report()!.overwritten >= 3)
    expect(await engine.ask('state')).toMatchObject({ mode: 1, m: 2, longCap: 2, classes: 2 })
    // The first was told at once; what followed within ten seconds is told together, later.
    expect(said.filter((text) => text.includes('damaged'))).toHaveLength(1)
  })

  it('is told of where the events of the engine cannot be read', async () => {
    const { engine, poke, said } = await steer('e', 'arrival')
    for (let k = 1; k < 50 && said.every((text) => !text.includes('damaged')); k++) {
      // The next record is damaged before it is announced, or after; sooner or later it is met.
      engine.tell(`step ${k}`)
      poke(RINGS_OFFSET + 64 * (k - 1) + 17, 77)
      await new Promise((resolve) => setTimeout(resolve, 10))
      if (k % 10 === 0) await engine.ask('state')
    }
    engine.tell('step 99')
    expect(said.every((text) => !text.includes('overwritten'))).toBe(true)
  })

  it('keeps answering in lockstep, whatever stands in the stop word and the answer word', async () => {
    const { engine, made, poke } = await steer('s', 'priority')
    expect(await engine.ask('ask 1')).toEqual({ level: -1 })
    poke(BOUNDARY_OFFSET + 68, 1)
    poke(BOUNDARY_OFFSET + 64, 250)
    await until(() => (made.report()?.overwritten ?? 0) >= 1)
    expect(await engine.ask('ask 2')).toEqual({ level: -1 })
  })
})

describe('what is told', () => {
  const counts = { garbled: 0, corruptEvents: 0, droppedEvents: 0 }
  const said: string[] = []
  let damage: string[] = []
  const health = createLinkHealth(
    counts,
    (text) => said.push(text),
    () => damage.splice(0),
  )
  const at = (ms: number): void => health.look(BigInt(ms) * 1_000_000n)

  it('is one line of each kind in ten seconds, with what came together since', () => {
    for (let ms = 0; ms < 1000; ms += 50) at(ms)
    expect(said).toEqual([])
    counts.corruptEvents = 3
    counts.garbled = 1
    for (let ms = 1000; ms < 1500; ms += 50) at(ms)
    expect(said.splice(0)).toEqual([
      'the segment was damaged: 4 records of the engine could not be read and are told again',
    ])
    counts.corruptEvents = 10
    damage = ['the answer']
    for (let ms = 1500; ms < 9000; ms += 50) at(ms)
    expect(said).toEqual([])
    for (let ms = 9000; ms < 14_000; ms += 50) at(ms)
    expect(said.splice(0)).toEqual([
      'the segment was damaged: 7 records of the engine could not be read and are told again; the answer overwritten and put right',
    ])
    counts.droppedEvents = 12
    for (let ms = 14_000; ms < 15_000; ms += 50) at(ms)
    expect(said.splice(0)).toEqual([
      'the ring was full: 12 events were dropped; the engine tells again what it holds',
    ])
    at(20_000)
    expect(said).toEqual(['this controller did not run for 5050 ms; the engine went on by itself'])
  })
})
