import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createGpuStages, type GpuStages } from '../../src/gpu/gpu-stages.js'
import {
  createGreenContextLadder,
  type GreenContextLadder,
} from '../../src/gpu/green-context-ladder.js'
import { loadKernels } from '../../src/gpu/kernel-module.js'
import { STAGE_PTX, STAGE_SOURCE_SHA256 } from '../../src/gpu/stage-ptx.js'
import { createStepTimer, quantile } from '../../src/gpu/step-timer.js'
import { shuffled, sweepLadder } from '../../src/gpu/sweep.js'
import { describeDouble } from '../abi/double/describe.js'
import { NOTHING, openDoubleDevice, thrown } from './open-double.js'

function build(
  spec: string,
  version?: number,
): ReturnType<typeof openDoubleDevice> & { ladder: GreenContextLadder; stages: GpuStages } {
  const double = openDoubleDevice(spec, version)
  const { cuda, device } = double
  const ladder = createGreenContextLadder(cuda, device, { levels: [40, 72, 104] })
  cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
  const stages = createGpuStages(cuda, device, ladder.stream(ladder.offIndex, 'shared'))
  return { ...double, ladder, stages }
}

test('the PTX was built from the source beside it', () => {
  const source = readFileSync('src/gpu/kernels/stages.cu')
  expect(createHash('sha256').update(source).digest('hex')).toBe(STAGE_SOURCE_SHA256)
  expect(STAGE_PTX).toContain('.target sm_70')
  // ISA 8.4 is the newest that driver 550 compiles.
  expect(STAGE_PTX).toMatch(/^\.version 8\.[0-4]\n/)
  for (const kernel of ['horizon_smid', 'horizon_memory', 'horizon_compute'])
    expect(STAGE_PTX).toContain(`.entry ${kernel}(`)
})

describeDouble('stages on the double', () => {
  test.each([12040, 12080, 13010])(
    'both sides of a row run on disjoint SMs that make up the device (driver %i)',
    (version) => {
      const { cuda, ladder, stages, live } = build('sms=142;cc=89', version)
      for (const row of ladder.rows.slice(0, ladder.aggressiveIndex)) {
        const [shared, downstream] = (['shared', 'downstream'] as const).map((side) => {
          cuda.call('cuCtxSetCurrent', ladder.context(row.index, side))
          return new Set(stages.probeSms(ladder.stream(row.index, side)))
        }) as [Set<number>, Set<number>]
        expect(shared.size).toBe(row.sharedSms)
        expect(downstream.size).toBe(row.downstreamSms)
        expect(new Set([...shared, ...downstream]).size).toBe(142)
      }
      stages.close()
      stages.close()
      ladder.close()
      expect(live()).toEqual(NOTHING)
    },
  )

  test('rows are nested: a higher level runs on every SM of the lower one', () => {
    const { cuda, ladder, stages } = build('sms=132;cc=90')
    let below: number[] = []
    for (const row of ladder.rows.slice(0, ladder.aggressiveIndex)) {
      cuda.call('cuCtxSetCurrent', ladder.context(row.index, 'shared'))
      const sms = stages.probeSms(ladder.stream(row.index, 'shared'))
      expect(below.every((id) => sms.includes(id))).toBe(true)
      below = sms
    }
    stages.close()
    ladder.close()
  })

  test('a sweep measures every row, alone and beside, and leaves nothing behind', () => {
    const { cuda, ladder, stages, live } = build('sms=142;cc=89')
    const seen: number[] = []
    const rows = sweepLadder(cuda, ladder, stages, {
      steps: 8,
      onRow: (_, done) => seen.push(done),
    })
    expect(rows.map((row) => row.sharedSms)).toEqual([40, 72, 104, 142, 142])
    expect(seen).toEqual([1, 2, 3, 4, 5])
    for (const row of rows) {
      for (const ms of [
        row.sharedAloneMs,
        row.downstreamAloneMs,
        row.sharedCoRunMs,
        row.downstreamCoRunMs,
      ])
        expect(ms).toBeGreaterThan(0)
      expect(row.sharedCoRunMs).toBeGreaterThanOrEqual(row.sharedAloneMs)
    }
    // The double's memory stage saturates at 40 % of its SMs.
    expect(rows[1]?.sharedAloneMs).toBeCloseTo(rows[3]?.sharedAloneMs as number, 3)
    expect(rows[0]?.sharedAloneMs).toBeGreaterThan(rows[1]?.sharedAloneMs as number)
    stages.close()
    ladder.close()
    expect(live()).toEqual(NOTHING)
  })

  test('a sticky error in the middle of a sweep names the restart, and closing still works', () => {
    const { cuda, ladder, stages } = build('sms=132;cc=90;sticky=719;stickyafter=60')
    expect(thrown(() => sweepLadder(cuda, ladder, stages))).toMatchObject({
      code: 'ERR_GPU_STICKY',
      result: 719,
      message: expect.stringContaining('restart the process'),
    })
    expect(thrown(() => cuda.call('cuCtxSynchronize'))).toMatchObject({ code: 'ERR_GPU_STICKY' })
    stages.close()
    ladder.close()
    ladder.close()
  })

  test('used after close, or beyond its events, is an error and no crash', () => {
    const { cuda, ladder, stages } = build('sms=142;cc=89')
    const stream = ladder.stream(ladder.offIndex, 'shared')
    const timer = createStepTimer(cuda, 1)
    timer.mark(stream)
    timer.mark(stream)
    expect(thrown(() => timer.mark(stream))).toMatchObject({ code: 'ERR_GPU_STEPS' })
    timer.close()
    stages.close()
    for (const use of [
      () => timer.mark(stream),
      () => timer.finish(),
      () => stages.memory.enqueue(stream),
      () => stages.compute.enqueue(stream),
      () => stages.probeSms(stream),
    ])
      expect(thrown(use)).toMatchObject({ code: 'ERR_GPU_STAGE_CLOSED' })
    ladder.close()
  })

  test('PTX that is none, and a kernel that is not there, are errors with a code', () => {
    const { cuda, device, live } = openDoubleDevice()
    expect(thrown(() => loadKernels(cuda, 'hello'))).toMatchObject({ code: 'ERR_GPU_PTX' })
    const kernels = loadKernels(cuda, STAGE_PTX)
    expect(thrown(() => kernels.kernel('nobody'))).toMatchObject({ result: 500 })
    kernels.close()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'shared'))
    expect(
      thrown(() =>
        createGpuStages(cuda, device, ladder.stream(2, 'shared'), { bytes: 8 * 2 ** 30 }),
      ),
    ).toMatchObject({ code: 'ERR_GPU_OUT_OF_MEMORY' })
    ladder.close()
    expect(live()).toEqual(NOTHING)
  })
})

test('the order of rows is a permutation fixed by the seed', () => {
  expect(shuffled(6, 7)).toEqual(shuffled(6, 7))
  expect([...shuffled(9, 3)].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  expect(shuffled(9, 1)).not.toEqual(shuffled(9, 2))
})

test('quantiles by nearest rank', () => {
  expect(quantile([3, 1, 2], 0.5)).toBe(2)
  expect(quantile([1, 2, 3, 4], 0.95)).toBe(4)
  expect(quantile([], 0.5)).toBeNaN()
})
