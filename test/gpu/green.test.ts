/**
 * @module
 * The Python side of the ladder against the same double as the TypeScript side: the same rows from the same description, in another
 * process, and together the whole device.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { createGpuStages } from '../../src/gpu/gpu-stages.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import type { LadderDescription } from '../../src/gpu/ladder-description.js'
import { spreadLevels } from '../../src/gpu/ladder-plan.js'
import { cudaDouble, hasCompiler } from '../abi/double/build.js'
import { openDoubleDevice } from './open-double.js'

interface Answer {
  readonly rows?: readonly { sms: number; ids: number[]; readBack: number; stream: boolean }[]
  readonly caught?: readonly string[]
  readonly order?: readonly string[]
  readonly live: readonly number[]
  readonly code?: string
  readonly message?: string
}

const python = process.env.PYTHON ?? 'python3'
const hasPython = (() => {
  try {
    execFileSync(python, ['-c', 'import sys; assert sys.version_info >= (3, 10)'], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
})()
const skipped = !hasCompiler || !hasPython

describe.skipIf(skipped)(
  `green.py${skipped ? ' [skipped: needs gcc and Python 3.10]' : ''}`,
  () => {
    const children = new Map<
      number,
      { child: ChildProcessWithoutNullStreams; next: () => Promise<string> }
    >()
    const ask = async (version: number, request: unknown): Promise<Answer> => {
      let entry = children.get(version)
      if (entry === undefined) {
        const child = spawn(python, ['test/gpu/green-driver.py'], {
          env: {
            ...process.env,
            PYTHONPATH: 'python',
            HORIZON_LIBCUDA: cudaDouble(version),
            PYTHONDONTWRITEBYTECODE: '1',
          },
        })
        let errors = ''
        child.stderr.on('data', (chunk) => {
          errors += chunk
        })
        const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
        entry = {
          child,
          next: async () => {
            const { value, done } = await lines.next()
            if (done === true) throw new Error(errors)
            return value
          },
        }
        children.set(version, entry)
      }
      entry.child.stdin.write(`${JSON.stringify(request)}\n`)
      return JSON.parse(await entry.next()) as Answer
    }
    afterAll(() => {
      for (const { child } of children.values()) child.stdin.end()
    })

    test.each([
      ['sms=58;cc=89', 12040],
      ['sms=108;cc=80', 12080],
      ['sms=128;cc=89', 12080],
      ['sms=132;cc=90;fewer=1', 12080],
      ['sms=142;cc=89', 12040],
      ['sms=188;cc=120', 13010],
      ['sms=132;cc=90;strictalign=1', 12080],
      ['sms=132;cc=90;strictalign=1;refuse=72', 13010],
    ])(
      '%s on driver %i: the other side in another process, disjoint, together the device',
      async (spec, version) => {
        const { cuda, device } = openDoubleDevice(spec, version)
        const levels = [...spreadLevels(device.numSms, 3), 72].filter((sms) => sms < device.numSms)
        const ladder = createGreenContextLadder(cuda, device, { levels, sides: ['shared'] })
        cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
        const stages = createGpuStages(cuda, device, ladder.stream(ladder.offIndex, 'shared'))
        const description = ladder.describe()
        const other = await ask(version, { spec, side: 'downstream', description })
        const same = await ask(version, { spec, side: 'shared', description })
        expect(other.code).toBeUndefined()
        for (const row of ladder.rows.slice(0, ladder.aggressiveIndex)) {
          cuda.call('cuCtxSetCurrent', ladder.context(row.index, 'shared'))
          const here = stages.probeSms(ladder.stream(row.index, 'shared'))
          const there = other.rows?.[row.index]
          expect(there?.sms).toBe(row.downstreamSms)
          expect(there?.ids).toHaveLength(row.downstreamSms)
          expect(there?.ids.some((id) => here.includes(id))).toBe(false)
          expect(same.rows?.[row.index]?.ids).toEqual(here)
        }
        for (const answer of [other, same]) {
          expect(answer.rows?.map((row) => row.readBack)).toEqual(
            ladder.rows.map((row) => row.index),
          )
          expect(answer.rows?.every((row) => row.stream)).toBe(true)
          expect(answer.caught).toEqual(['ERR_GPU_CONTEXT_IN_USE', 'ERR_GPU_LADDER_CLOSED'])
          expect(answer.live).toEqual([0, 0, 0, 0, 0])
          expect(answer.order).toEqual([
            'row waits for current',
            'enter row',
            'work',
            'leave row',
            'current waits for row',
          ])
        }
        stages.close()
        ladder.close()
      },
    )

    test('what does not fit is refused with the same codes, and nothing is left', async () => {
      const { cuda, device } = openDoubleDevice('sms=132;cc=90')
      const ladder = createGreenContextLadder(cuda, device, { levels: [72], dryRun: true })
      const good: LadderDescription = ladder.describe()
      ladder.close()
      const tries: [string, unknown, string, string][] = [
        ['sms=132;cc=90;fewer=1', good, 'ERR_GPU_LADDER_MISMATCH', 'numGroups'],
        ['sms=142;cc=89', good, 'ERR_GPU_LADDER_MISMATCH', 'totalSms'],
        ['sms=132;cc=90;refuse=8', good, 'ERR_GPU_LEVEL_REFUSED', '915'],
        ['sms=132;cc=90;oomafter=0;devices=0', good, 'ERR_GPU_DEVICE_UNAVAILABLE', '100'],
        ['sms=132;cc=90', { ...good, format: 3 }, 'ERR_GPU_LADDER_DESCRIPTION', 'format'],
        ['sms=132;cc=90', { ...good, levels: [] }, 'ERR_GPU_LADDER_DESCRIPTION', 'levels'],
        ['sms=132;cc=90', { ...good, minCount: true }, 'ERR_GPU_LADDER_DESCRIPTION', 'minCount'],
        ['sms=132;cc=90', null, 'ERR_GPU_LADDER_DESCRIPTION', 'description'],
      ]
      for (const [spec, description, code, words] of tries) {
        const answer = await ask(12080, { spec, side: 'shared', description })
        expect(answer).toMatchObject({ code, message: expect.stringContaining(words) })
        expect(answer.live).toEqual([0, 0, 0, 0, 0])
      }
      expect(await ask(12080, { spec: 'sms=132', side: 'left', description: good })).toMatchObject({
        code: 'ERR_GPU_SIDE',
      })
      expect(
        await ask(11080, { spec: 'sms=132;cc=90', side: 'shared', description: good }),
      ).toMatchObject({
        code: 'ERR_GPU_GREEN_CONTEXT_UNAVAILABLE',
        message: expect.stringContaining('cuDeviceGetDevResource'),
      })
    })

    test('a library that is not there, or not NVIDIA’s', () => {
      const code = `
import sys
from horizonserve.green import GreenError, Ladder
for path in ("/nowhere/libcuda.so.1", "libm.so.6"):
    try: Ladder.from_description({}, "shared", library=path)
    except GreenError as e: print(e.code)
`
      const text = execFileSync(python, ['-c', code], {
        encoding: 'utf8',
        env: { ...process.env, PYTHONPATH: 'python', PYTHONDONTWRITEBYTECODE: '1' },
      })
      expect(text.trim().split('\n')).toEqual([
        'ERR_GPU_DRIVER_UNAVAILABLE',
        'ERR_GPU_LIBRARY_FOREIGN',
      ])
    })
  },
)
