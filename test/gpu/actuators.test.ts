/**
 * @module
 * The actuators behind the one port: Green Contexts on the double, processors on the kernel of this machine.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { createGreenContextActuator } from '../../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import { createPressureSource } from '../../src/gpu/pressure-source.js'
import { createProcessorActuator } from '../../src/gpu/processor-actuator.js'
import { createStallProbe, stalledUs } from '../../src/gpu/stall-pressure.js'
import { sharedStepClock } from '../../src/gpu/step-clock.js'
import { describeDouble } from '../abi/double/describe.js'
import { actuatorContract } from './actuator-contract.js'
import { openDoubleDevice, thrown } from './open-double.js'

describeDouble('Green Contexts', () => {
  actuatorContract(() => {
    const { cuda, device } = openDoubleDevice('sms=132;cc=90')
    const ladder = createGreenContextLadder(cuda, device, {
      levels: [40, 72, 104],
      aggressiveSms: 120,
    })
    return {
      actuator: createGreenContextActuator(cuda, ladder, 'shared'),
      numRows: ladder.rows.length,
      close: () => ladder.close(),
    }
  })
})

/** A group of this machine's kernel, version 1 or 2, or why there is none. */
const group = ((): string | undefined => {
  for (const root of ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup']) {
    const path = `${root}/horizonserve-test-${process.pid}`
    try {
      mkdirSync(path)
      for (const file of ['cpu.cfs_quota_us', 'cpu.max'])
        try {
          readFileSync(`${path}/${file}`)
          return path
        } catch {
          // The other version.
        }
      rmdirSync(path)
    } catch {
      // No such hierarchy, or not ours to write.
    }
  }
  return undefined
})()

describe.skipIf(group === undefined)(
  `processors${group === undefined ? ' [skipped: no control group may be made here]' : ''}`,
  () => {
    const path = group ?? ''
    let child: ChildProcess | undefined
    afterAll(async () => {
      if (child !== undefined) {
        const ended = new Promise((resolve) => child?.once('exit', resolve))
        child.kill('SIGKILL')
        await ended
      }
      // The kernel may take a moment to let go of the last process.
      for (let i = 0; i < 100; i++) {
        try {
          rmdirSync(path)
          return
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    })

    actuatorContract(() => {
      const actuator = createProcessorActuator({ group: path, hundredths: [25, 50, 100, 0] })
      return { actuator, numRows: 4, close: () => actuator.close() }
    })

    test('a process in the group is held: the kernel counts the periods in which it was stopped', async () => {
      child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
      writeFileSync(`${path}/cgroup.procs`, String(child.pid))
      const actuator = createProcessorActuator({ group: path, hundredths: [20, 0], periodMs: 10 })
      actuator.apply(0)
      const throttled = (): number =>
        Number(/nr_throttled (\d+)/.exec(readFileSync(`${path}/cpu.stat`, 'utf8'))?.[1])
      await expect.poll(throttled, { timeout: 60_000, interval: 50 }).toBeGreaterThan(3)
      actuator.close()
      expect(actuator.readBack()).toBe(-1)
      actuator.close()
    })

    test('what cannot be is refused before anything is bounded', () => {
      expect(
        thrown(() => createProcessorActuator({ group: '/nowhere', hundredths: [50] })),
      ).toMatchObject({ code: 'ERR_GPU_PROCESSOR_GROUP', field: 'group' })
      for (const hundredths of [[5], [-1], [50.5]])
        expect(thrown(() => createProcessorActuator({ group: path, hundredths }))).toMatchObject({
          code: 'ERR_GPU_LEVELS',
          field: 'hundredths[0]',
        })
    })
  },
)

describe('pressure from stalls', () => {
  test('the share of time in which some task stood still', () => {
    const folder = process.env.TMPDIR ?? '/tmp'
    const path = `${folder}/horizonserve-stall-${process.pid}`
    const say = (us: number | string): void =>
      writeFileSync(path, `some avg10=0.00 avg60=0.00 avg300=0.00 total=${us}\nfull total=1\n`)
    const ms = new Float64Array([1000])
    say(5_000_000)
    const clock = sharedStepClock(ms)
    const source = createPressureSource(createStallProbe({ path, clock, resource: 'cpu' }), {
      clock,
    })
    const out = { value: Number.NaN, kind: '', timestampMs: Number.NaN, source: '' }
    expect(source.sample(out)).toBe(false)
    say(5_050_000)
    ms[0] = 1200
    expect(source.sample(out)).toBe(true)
    expect(out).toMatchObject({ value: 0.25, kind: 'cpu-stall', source: 'stall-cpu' })
    say('soup')
    ms[0] = 1400
    expect(source.sample(out)).toBe(true)
    expect(out.timestampMs).toBe(1200)
    source.close()
    expect(stalledUs('')).toBeNaN()
  })
})
