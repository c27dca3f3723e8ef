/**
 * @module
 * NVIDIA's own libraries on a machine without a GPU: they load, and what they answer is explained. `scripts/nvidia-libraries.sh` fetches
 * them where Debian's non-free packages can be had.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { initCuda, openCuda } from '../../src/gpu/cuda.js'
import { countDevices } from '../../src/gpu/device.js'
import { runDoctor } from '../../src/gpu/doctor.js'
import { countNvmlDevices, initNvml, openNvml } from '../../src/gpu/nvml.js'
import { thrown } from './open-double.js'

const root = process.env.HORIZON_NVIDIA_LIBRARIES
const folders =
  root === undefined || !existsSync(root)
    ? []
    : readdirSync(root).filter((name) => existsSync(join(root, name, 'libcuda.so.1')))
// With a kernel driver loaded these libraries would answer differently, or refuse the version.
const hasDriver = existsSync('/proc/driver/nvidia/version')
const reason = hasDriver
  ? 'a kernel driver is loaded here'
  : 'HORIZON_NVIDIA_LIBRARIES names no folder with libraries (scripts/nvidia-libraries.sh)'
const skipped = folders.length === 0 || hasDriver
// A skipped suite still has its tests, so that the reason is seen.
const cases = folders.length === 0 ? ['no library'] : folders

/** Green Context symbols by driver branch. */
const MISSING: Readonly<Record<string, number>> = { '535': 9, '550': 2, '555': 1 }

describe.skipIf(skipped)(`real driver libraries${skipped ? ` [skipped: ${reason}]` : ''}`, () => {
  test.each(cases)('%s: NVML answers 9, cuInit 100, and calls before init 1 and 3', (folder) => {
    const nvml = openNvml({ libraryPath: join(root as string, folder, 'libnvidia-ml.so.1') })
    expect(thrown(() => initNvml(nvml))).toMatchObject({
      code: 'ERR_GPU_NVML_UNAVAILABLE',
      result: 9,
    })
    expect(thrown(() => countNvmlDevices(nvml))).toMatchObject({
      code: 'ERR_GPU_NOT_INITIALIZED',
      result: 1,
    })
    const cuda = openCuda({ libraryPath: join(root as string, folder, 'libcuda.so.1') })
    expect(cuda.version).toBeGreaterThanOrEqual(12020)
    expect(cuda.missing).toHaveLength(MISSING[folder.slice(0, 3)] as number)
    expect(thrown(() => initCuda(cuda))).toMatchObject({
      code: 'ERR_GPU_DEVICE_UNAVAILABLE',
      result: 100,
    })
    expect(thrown(() => countDevices(cuda))).toMatchObject({
      code: 'ERR_GPU_NOT_INITIALIZED',
      result: 3,
    })
  })

  test.each(cases)('%s: doctor explains it', (folder) => {
    const report = runDoctor({
      cuda: { libraryPath: join(root as string, folder, 'libcuda.so.1') },
      nvml: { libraryPath: join(root as string, folder, 'libnvidia-ml.so.1') },
    })
    const find = (id: string): unknown => report.findings.find((f) => f.id === id)
    expect(find('cuda.library')).toMatchObject({ status: 'ok' })
    expect(find('cuda.init')).toMatchObject({
      status: 'missing',
      text: expect.stringContaining('100'),
      advice: expect.stringContaining('nvidia-smi'),
    })
    expect(find('nvml')).toMatchObject({
      status: 'missing',
      text: expect.stringContaining('9'),
      advice: expect.stringContaining('kernel driver'),
    })
    expect(report.summary).toMatch(/^No GPU/)
  })
})
