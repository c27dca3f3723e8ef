import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { isHorizonError } from '../../src/core/errors.js'
import { initCuda, openCuda } from '../../src/gpu/cuda.js'
import { countDevices, openDevice } from '../../src/gpu/device.js'
import { assertInForce, createGreenContextActuator } from '../../src/gpu/green-context-actuator.js'
import { createGreenContextLadder } from '../../src/gpu/green-context-ladder.js'
import { createMpsActuator, createNoActuator, mpsPercentage } from '../../src/gpu/mps-actuator.js'
import { describeDouble } from '../abi/double/describe.js'
import { NOTHING, openCudaDouble, openDoubleDevice, thrown } from './open-double.js'

describe('a driver that is not there', () => {
  test('a path without a file, a file that is no library, and a library that is not NVIDIA’s are told apart', () => {
    expect(thrown(() => openCuda({ libraryPath: '/nowhere/libcuda.so.1' }))).toMatchObject({
      code: 'ERR_GPU_DRIVER_UNAVAILABLE',
      message: expect.stringContaining('no such file'),
    })
    const text = join(mkdtempSync(join(tmpdir(), 'horizonserve-')), 'libcuda.so.1')
    writeFileSync(text, 'not a library')
    expect(thrown(() => openCuda({ libraryPath: text }))).toMatchObject({
      code: 'ERR_GPU_DRIVER_UNAVAILABLE',
    })
    expect(thrown(() => openCuda({ libraryPath: 'libm.so.6' }))).toMatchObject({
      code: 'ERR_GPU_LIBRARY_FOREIGN',
      message: expect.stringContaining('cuInit'),
    })
  })
})

describeDouble('the driver double', () => {
  test('no GPU: the driver’s 100 becomes an environment error with the way out', () => {
    const { cuda } = openCudaDouble('devices=0')
    const error = thrown(() => initCuda(cuda))
    expect(isHorizonError(error)).toBe(true)
    expect(error).toMatchObject({ code: 'ERR_GPU_DEVICE_UNAVAILABLE', result: 100, call: 'cuInit' })
    expect(error.message).toContain('nvidia-smi')
  })

  test.each([
    [34, 'ERR_GPU_DEVICE_UNAVAILABLE'],
    [802, 'ERR_GPU_DEVICE_UNAVAILABLE'],
    [803, 'ERR_GPU_DEVICE_UNAVAILABLE'],
    [804, 'ERR_GPU_DEVICE_UNAVAILABLE'],
    [805, 'ERR_GPU_MPS_UNAVAILABLE'],
    [999, 'ERR_GPU_CALL'],
    [-5, 'ERR_GPU_CALL'],
    [123456, 'ERR_GPU_CALL'],
  ])('cuInit returning %i is %s', (result, code) => {
    const { cuda } = openCudaDouble(`init=${result}`)
    expect(thrown(() => initCuda(cuda))).toMatchObject({ code, result })
  })

  test('before init every call says so', () => {
    const { cuda } = openCudaDouble()
    expect(thrown(() => countDevices(cuda))).toMatchObject({ code: 'ERR_GPU_NOT_INITIALIZED' })
  })

  test('a device index that is not there', () => {
    const { cuda } = openDoubleDevice('devices=2')
    expect(openDevice(cuda, 1).index).toBe(1)
    for (const index of [2, -1, 0.5, Number.NaN])
      expect(thrown(() => openDevice(cuda, index))).toMatchObject({
        code: 'ERR_GPU_DEVICE_INDEX',
        field: 'device',
      })
  })

  test('a device is described by what the driver says', () => {
    const { device } = openDoubleDevice('sms=142;cc=89;mps=1')
    expect(device).toEqual({
      index: 0,
      handle: 0,
      name: 'double of a GPU with 142 SMs',
      uuid: 'GPU-00112233-4455-6677-8899-aabbccddeeff',
      ccMajor: 8,
      ccMinor: 9,
      numSms: 142,
      l2Bytes: 50 << 20,
      peakBytesPerSec: 1.92e12,
      isIntegrated: false,
      computeMode: 0,
      isMpsClient: true,
    })
    expect(openDoubleDevice('version=12020', 11080).device.isMpsClient).toBeUndefined()
  })

  test('each driver branch lacks what it lacks', () => {
    const missing = (version: number): readonly string[] => openCudaDouble('', version).cuda.missing
    expect(missing(11080)).toContain('cuGreenCtxCreate')
    expect(missing(12040)).toEqual(['cuGreenCtxStreamCreate', 'cuDevSmResourceSplit'])
    expect(missing(12080)).toEqual(['cuDevSmResourceSplit'])
    expect(missing(13010)).toEqual([])
    expect(openCudaDouble('', 12040).cuda.version).toBe(12040)
  })
})

describeDouble('the Green Context actuator', () => {
  test('apply makes the row’s context current, readBack finds it', () => {
    const { cuda, device, live } = openDoubleDevice('sms=142;cc=89')
    const ladder = createGreenContextLadder(cuda, device, { levels: [40, 72, 104] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    for (const row of ladder.rows) {
      actuator.apply(row.index)
      expect(actuator.readBack()).toBe(row.index)
      assertInForce(actuator, row.index)
    }
    ladder.close()
    expect(live()).toEqual(NOTHING)
  })

  test('a library that rebinds the thread is noticed', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    const actuator = createGreenContextActuator(cuda, ladder, 'downstream')
    actuator.apply(0)
    cuda.call('cuCtxSetCurrent', ladder.context(ladder.offIndex, 'downstream'))
    expect(thrown(() => assertInForce(actuator, 0))).toMatchObject({ code: 'ERR_GPU_CONTEXT_LOST' })
    cuda.call('cuCtxSetCurrent', null)
    expect(actuator.readBack()).toBe(-1)
    ladder.close()
  })

  test('rows that are not there, and use after close, are errors and no crash', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    for (const level of [-1, 3, 0.5, Number.NaN])
      expect(thrown(() => actuator.apply(level))).toMatchObject({ code: 'ERR_GPU_LEVELS' })
    ladder.close()
    expect(thrown(() => actuator.apply(0))).toMatchObject({ code: 'ERR_GPU_LADDER_CLOSED' })
    expect(thrown(() => actuator.readBack())).toMatchObject({ code: 'ERR_GPU_LADDER_CLOSED' })
  })

  test('a context destroyed behind our back is an error of the driver, with a code', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    cuda.call('cuGreenCtxDestroy', ladder.context(0, 'shared'))
    expect(thrown(() => actuator.apply(0))).toMatchObject({
      code: 'ERR_GPU_CONTEXT_CLOSED',
      result: 709,
    })
  })

  test('a ladder cannot be sent to another thread, its description can', () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    expect(() => structuredClone(ladder)).toThrow(/could not be cloned/)
    expect(structuredClone(ladder.describe())).toEqual(ladder.describe())
    ladder.close()
  })

  test('a context that is current to another thread is refused with the way out', async () => {
    const { cuda, device } = openDoubleDevice()
    const ladder = createGreenContextLadder(cuda, device, { levels: [72] })
    const actuator = createGreenContextActuator(cuda, ladder, 'shared')
    const context = ladder.context(0, 'shared')
    // What a binding written elsewhere in the process could do with the address; our own API never hands it to a thread.
    const source = `
      const { parentPort, workerData } = require('node:worker_threads')
      const set = require('koffi').load(workerData.path).func('int cuCtxSetCurrent(void *context)')
      parentPort.postMessage(set(workerData.context))
      parentPort.once('message', () => parentPort.postMessage(set(null)))`
    const worker = new Worker(source, { eval: true, workerData: { path: cuda.path, context } })
    const reply = (): Promise<unknown> => new Promise((done) => worker.once('message', done))
    expect(await reply()).toBe(0)
    expect(thrown(() => actuator.apply(0))).toMatchObject({
      code: 'ERR_GPU_CONTEXT_IN_USE',
      result: 216,
      message: expect.stringContaining('one ladder per thread'),
    })
    const released = reply()
    worker.postMessage('release')
    expect(await released).toBe(0)
    actuator.apply(0)
    expect(actuator.readBack()).toBe(0)
    await worker.terminate()
    ladder.close()
  })
})

test('MPS: a percentage for the start, rounded up; other rows are ignored and said once', () => {
  expect([1, 66, 72, 132].map((sms) => mpsPercentage(sms, 132))).toEqual([1, 50, 55, 100])
  const said: string[] = []
  const mps = createMpsActuator({
    totalSms: 132,
    sms: [40, 72, 132],
    startLevel: 1,
    onIgnored: (message) => said.push(message),
  })
  expect(mps.environment).toEqual({ CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '55' })
  mps.apply(1)
  expect(said).toEqual([])
  mps.apply(2)
  mps.apply(0)
  expect(said).toHaveLength(1)
  expect(mps.readBack()).toBe(1)
  expect(
    thrown(() => createMpsActuator({ totalSms: 132, sms: [40], startLevel: 1 })),
  ).toMatchObject({
    code: 'ERR_GPU_LEVELS',
  })
})

test('the `none` actuator remembers what was asked', () => {
  const none = createNoActuator()
  expect(none.readBack()).toBe(-1)
  none.apply(2)
  expect(none.readBack()).toBe(2)
})
