import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { createKeepOff } from '../../src/controller/keep-off.js'
import { allowedProcessors, keepToProcessors } from '../../src/native/affinity.js'

const before = allowedProcessors()!
const processors = [...before].flatMap((byte, at) =>
  [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte >> bit) & 1).map((bit) => at * 8 + bit),
)

afterAll(() => {
  expect(keepToProcessors(before)).toBe(true)
  expect(allowedProcessors()).toEqual(before)
})

/** The list of processors as the kernel tells it. */
const kernelSays = (): string =>
  /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/thread-self/status', 'utf8'))![1]!

test('the thread leaves the processor of the engine, and follows when the engine moves', () => {
  let engine: number | undefined = processors[0]
  const keepOff = createKeepOff(() => engine)
  expect(keepOff.isApart).toBe(false)
  for (const processor of processors) {
    engine = processor
    keepOff.renew(1)
    expect(keepOff.isApart).toBe(processors.length > 1)
    const mask = allowedProcessors()!
    const isOn = ((mask[processor >> 3]! >> (processor & 7)) & 1) === 1
    expect(isOn).toBe(processors.length === 1)
  }
  engine = undefined
  keepOff.renew(1)
  expect(keepOff.isApart).toBe(false)
  expect(allowedProcessors()).toEqual(before)
})

test('with one processor there is nowhere to go', () => {
  const one = new Uint8Array(before.length)
  const only = processors[0]!
  one[only >> 3] = 1 << (only & 7)
  expect(keepToProcessors(one)).toBe(true)
  expect(kernelSays()).toBe(String(only))
  const keepOff = createKeepOff(() => only)
  keepOff.renew(1)
  expect(keepOff.isApart).toBe(false)
  expect(kernelSays()).toBe(String(only))
})

test('a process that is gone, or none, changes nothing; our own is found', () => {
  expect(keepToProcessors(before)).toBe(true)
  const keepOff = createKeepOff()
  keepOff.renew(0)
  keepOff.renew(2 ** 22 + 1)
  expect([keepOff.isApart, allowedProcessors()]).toEqual([false, before])
  keepOff.renew(process.pid)
  expect(keepOff.isApart).toBe(processors.length > 1)
})
