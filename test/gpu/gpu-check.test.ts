/**
 * @module
 * A dry run of `scripts/gpu-check.sh` from packing to report, against the doubles and stand-ins for the MPS daemon and torch: so that a
 * run on a real GPU does not fail for a typo. No number it prints is of a GPU, and it says so.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseSmSweep } from '../../src/sim/index.js'
import { cudaDouble, hasCompiler, nvmlDouble } from '../abi/double/build.js'
import { runs } from '../support/runs.js'

const has = (command: string): boolean =>
  spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
const skipped =
  !hasCompiler ||
  process.platform !== 'linux' ||
  process.arch !== 'x64' ||
  !has('bash') ||
  !has('python3')

// Half a minute in all on a small machine; one run of three is enough for every day.
const everyday = runs(1, 0) === 1

describe.skipIf(skipped)(
  `gpu-check${skipped ? ' [skipped: needs x86-64 Linux, gcc, bash, Python]' : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'horizonserve-gpu-check-'))
    const pack = join(folder, 'pack')
    beforeAll(() => {
      execFileSync('bash', ['scripts/gpu-check/pack.sh', pack], {
        env: { ...process.env, NODE_BINARY: process.execPath },
        stdio: 'ignore',
      })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    const run = (
      spec: string,
      version: number,
      more: Record<string, string>,
    ): { status: number | null; text: string; out: string } => {
      const out = mkdtempSync(join(folder, 'out-'))
      const { status, stdout, stderr } = spawnSync('bash', ['scripts/gpu-check.sh', out], {
        encoding: 'utf8',
        env: {
          ...process.env,
          HORIZON_GPU_CHECK_PACK: pack,
          HORIZON_GPU_CHECK_QUICK: '1',
          HORIZON_LIBCUDA: cudaDouble(version),
          HORIZON_LIBNVML: nvmlDouble(),
          HORIZON_DOUBLE: spec,
          PYTHONDONTWRITEBYTECODE: '1',
          ...more,
        },
      })
      const archive = join(out, 'gpu-check.tgz')
      expect(readdirSync(out).length).toBeLessThanOrEqual(8)
      execFileSync('tar', ['-xzf', archive, '-C', out])
      return { status, text: `${stdout}\n${stderr}`, out }
    }

    test('everything there: all checks pass, and the result is complete', () => {
      const standIns = join(import.meta.dirname, 'stand-ins')
      const { status, text, out } = run('sms=132;cc=90;fewer=1', 12080, {
        PATH: `${join(standIns, 'bin')}:${process.env.PATH}`,
        PYTHONPATH: standIns,
      })
      expect(text).toContain('12 passed, 0 failed, 0 skipped')
      expect(text).toContain('DRY RUN against a double')
      expect(status).toBe(0)
      const result = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8'))
      expect(result.environment).toMatchObject({
        numSms: 132,
        computeCapability: '9.0',
        double: true,
      })
      expect(result.checks.map((check: { name: string }) => check.name)).toEqual([
        'ladder-counts',
        'smid-one-process',
        'switch',
        'creation',
        'nvml-utilization',
        'nvml-samples',
        'gpm-dram-bandwidth',
        'sweep',
        'two-processes-plain',
        'two-processes-mps',
        'torch',
        'graphs',
      ])
      expect(result.doctor.numGpus).toBe(1)
      expect(
        parseSmSweep(readFileSync(join(out, 'sweep.csv'), 'utf8'), 'sweep.csv').length,
      ).toBeGreaterThan(3)
      expect(readFileSync(join(out, 'sweep.html'), 'utf8')).toContain('<polyline')
    })

    test.skipIf(everyday)(
      'no GPM, no MPS, no torch: skipped with the reason, the rest passes',
      () => {
        const { status, text } = run('sms=142;cc=89', 12040, {
          HORIZON_NVML_DOUBLE: 'gpm=0',
          PATH: '/usr/bin:/bin',
          PYTHONPATH: '',
        })
        expect(text).toContain('8 passed, 0 failed, 4 skipped')
        expect(text).toContain('no nvidia-cuda-mps-control')
        expect(text).toContain('performance monitoring')
        expect(status).toBe(0)
      },
    )

    test.skipIf(everyday)('no GPU: it says so, fails, and still writes the report', () => {
      const { status, text, out } = run('devices=0', 12080, { PYTHONPATH: '' })
      expect(status).toBe(1)
      expect(text).toContain('no ladder could be built')
      expect(readFileSync(join(out, 'checks.log'), 'utf8')).toContain('ERR_GPU_DEVICE_UNAVAILABLE')
      expect(JSON.parse(readFileSync(join(out, 'result.json'), 'utf8')).doctor.numGpus).toBe(0)
    })
  },
)
