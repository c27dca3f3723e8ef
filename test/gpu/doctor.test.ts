import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EXIT } from '../../src/cli/command.js'
import { checkMps, checkPython, checkSharedMemory } from '../../src/gpu/check-host.js'
import { type DoctorReport, runDoctor } from '../../src/gpu/doctor.js'
import { tryOpenLibrary } from '../../src/native/library.js'
import { cudaDouble, nvmlDouble } from '../abi/double/build.js'
import { describeDouble } from '../abi/double/describe.js'
import { cli } from '../support/cli.js'
import { openCudaDouble } from './open-double.js'

function statusOf(report: DoctorReport, id: string): string | undefined {
  return report.findings.find((finding) => finding.id === id)?.status
}

test('with no GPU it says exactly that, exits with 0, and names what works', async () => {
  const nowhere = [
    '--cuda-library',
    '/nowhere/libcuda.so.1',
    '--nvml-library',
    '/nowhere/libnvidia-ml.so.1',
  ]
  const { code, out } = await cli('doctor', ...nowhere)
  expect(code).toBe(EXIT.ok)
  expect(out).toContain('No GPU: this process sees none')
  expect(out).toContain('missing  the CUDA driver library /nowhere/libcuda.so.1 does not load')
  expect(out).toContain('-> Install the NVIDIA driver')
  expect(out).toContain('Works here: scheduling in process')
  const json = await cli('doctor', '--json', ...nowhere)
  expect(json.code).toBe(EXIT.ok)
  const report = JSON.parse(json.out) as DoctorReport
  expect(report.numGpus).toBe(0)
  for (const finding of report.findings)
    if (finding.status !== 'ok') expect(finding.advice).toBeTruthy()
})

test('a library that is not NVIDIA’s is a line, not a crash', () => {
  const report = runDoctor({
    cuda: { libraryPath: 'libm.so.6' },
    nvml: { libraryPath: 'libm.so.6' },
  })
  expect(statusOf(report, 'cuda.library')).toBe('missing')
  expect(statusOf(report, 'nvml')).toBe('missing')
})

describeDouble('doctor on the doubles', () => {
  const look = (cudaSpec: string, nvmlSpec: string, version = 12080): DoctorReport => {
    const { cuda } = openCudaDouble(cudaSpec, version)
    const path = nvmlDouble()
    tryOpenLibrary([path]).library?.bind('void horizon_nvml_double_configure(const char *spec)')(
      nvmlSpec,
    )
    return runDoctor({ cuda: { libraryPath: cuda.path }, nvml: { libraryPath: path } })
  }

  test('a GPU with everything', () => {
    const report = look('sms=132;cc=90;mps=1', '', 13010)
    for (const id of [
      'cuda.library',
      'cuda.green-context',
      'cuda.device.0',
      'cuda.device.0.split',
      'nvml',
      'match',
      'mps',
    ])
      expect(statusOf(report, id), id).toBe('ok')
    expect(report.summary).toBe('1 GPU visible, SMs can be partitioned.')
    const text = report.findings.map((f) => f.text).join('\n')
    expect(text).toContain('compute capability 9.0, 132 SMs')
    expect(text).toContain('at least 8 SMs in steps of 8')
    expect(text).toContain('cuDevSmResourceSplit yes')
    expect(text).toContain('gpm-dram-bandwidth')
  })

  test('an old driver, no MPS, no GPM', () => {
    const report = look('sms=142;cc=89', 'gpm=0', 11080)
    expect(statusOf(report, 'cuda.green-context')).toBe('missing')
    expect(statusOf(report, 'mps')).toBe('warning')
    expect(report.findings.find((f) => f.id === 'nvml.device.0.pressure')?.text).toContain(
      'not from gpm',
    )
    expect(report.summary).toContain('cannot be partitioned')
  })

  test('devices that do not match by UUID', () => {
    expect(statusOf(look('uuidshift=1', ''), 'match')).toBe('warning')
    expect(statusOf(look('devices=0', ''), 'match')).toBe('missing')
    expect(statusOf(look('devices=2', 'devices=2'), 'match')).toBe('ok')
  })

  test('a GPU that was lost is a line with what to do', () => {
    const report = look('', 'ratesrc=15;samplesrc=15;gpm=0')
    expect(report.findings.find((f) => f.id === 'nvml.device.0.pressure')).toMatchObject({
      status: 'warning',
      text: expect.stringContaining('15'),
    })
  })

  test('the environment names the libraries', async () => {
    process.env.HORIZON_LIBCUDA = cudaDouble()
    process.env.HORIZON_LIBNVML = nvmlDouble()
    try {
      openCudaDouble('sms=58;cc=89')
      const { code, out } = await cli('doctor')
      expect(code).toBe(EXIT.ok)
      expect(out).toContain('58 SMs')
    } finally {
      delete process.env.HORIZON_LIBCUDA
      delete process.env.HORIZON_LIBNVML
    }
  })
})

test('MPS: a percentage in the environment is a warning', () => {
  const pipe = mkdtempSync(join(tmpdir(), 'horizonserve-mps-'))
  const env = { CUDA_MPS_PIPE_DIRECTORY: pipe, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' }
  const before = checkMps([], { env })
  expect(before.map((f) => f.id)).toEqual(['mps', 'mps.percentage'])
  expect(before[0]?.text).toContain('no MPS daemon')
  writeFileSync(join(pipe, 'control'), '')
  expect(checkMps([], { env })[0]?.text).toContain('no client of it')
})

test('shared memory that is not there, and Python that does not run', () => {
  expect(checkSharedMemory({ sharedMemory: '/nowhere' }).status).toBe('missing')
  expect(checkSharedMemory({ sharedMemory: tmpdir() }).text).toContain('MiB free')
  expect(checkPython({ python: '/nowhere/python' })[0]).toMatchObject({ status: 'missing' })
})
