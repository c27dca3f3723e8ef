import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCli } from '../../src/cli/main.js'
import { storedConstants } from '../../src/sim/vllm/constants.js'
import { loadKernelTables } from '../../src/sim/vllm/load-tables.js'
import type { FidelityResult } from '../../src/sim/vllm/replay.js'
import { RUNS } from '../support/engine-runs.js'

const LLAMA = 'RTXPRO6000_Llama-3.1-8B'
const QWEN = 'RTXPRO6000_Qwen3-32B'

async function cli(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const code = await runCli(['fidelity', ...argv], {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    progress: false,
    columns: 100,
  })
  return { code, out, err }
}

const inputs = (name: string, suffix = ''): string[] => [
  '--requests',
  `${RUNS}/${name}.requests.jsonl`,
  '--tables',
  `${RUNS}/${name}${suffix}`,
  '--meta',
  `${RUNS}/${name}.meta.json`,
]

async function errors(name: string, suffix: string, fit: string): Promise<FidelityResult> {
  const { code, out, err } = await cli(
    ...inputs(name, suffix),
    '--fit',
    `${RUNS}/${fit}.requests.jsonl`,
    '--json',
  )
  expect(err).toBe('')
  expect(code).toBe(0)
  return JSON.parse(out) as FidelityResult
}

const present = existsSync(`${RUNS}/${LLAMA}.requests.jsonl`)

describe.skipIf(!present)('fidelity (needs the recorded runs beside the repository)', () => {
  for (const [name, suffix, fit] of [
    [LLAMA, '', QWEN],
    [QWEN, '.tp2', LLAMA],
  ] as const) {
    it(`meets the bars on ${name}, host constants fitted on ${fit}`, async () => {
      const result = await errors(name, suffix, fit)
      for (const over of [result, result.all]) {
        expect(Math.abs(over.e2e.mean!)).toBeLessThanOrEqual(2.2)
        expect(Math.abs(over.tpot.mean!)).toBeLessThanOrEqual(1)
        expect(Math.abs(over.e2e.p95!)).toBeLessThanOrEqual(3)
        expect(Math.abs(over.e2e.p99!)).toBeLessThanOrEqual(3)
        expect(Math.abs(over.ttftUnqueued.mean!)).toBeLessThanOrEqual(10)
      }
      expect(result.constants.host.fittedOn).toBe(fit)
      // What is stored for when no run is given is what the fit finds.
      const stored = storedConstants(name)
      expect(result.constants.host.promptStepMs).toBeCloseTo(stored.host.promptStepMs, 2)
      expect(result.constants.host.stepMs).toBeCloseTo(stored.host.stepMs, 2)
      expect(result.preemptions).toBe(0)
    })
  }

  it('gives the same errors every time', async () => {
    const once = async () => {
      const { ttft, tpot, e2e, events } = JSON.parse((await cli(...inputs(LLAMA), '--json')).out)
      return { ttft, tpot, e2e, events }
    }
    expect(await once()).toEqual(await once())
  })

  it('takes stored constants of another run where none is given to fit on, and says so', async () => {
    const { out } = await cli(...inputs(LLAMA), '--json')
    const { constants } = JSON.parse(out) as FidelityResult
    expect(constants.host.fittedOn).toBe(QWEN)
    expect(constants.reuse.fittedOn).toBe('none')
    const text = await cli(...inputs(LLAMA))
    expect(text.out).toMatch(/time to first token/)
  })

  it('replays by the stamp asked for, and names one it does not know', async () => {
    const byQueue = JSON.parse((await cli(...inputs(LLAMA), '--replay-by', 'queued', '--json')).out)
    expect(Math.abs(byQueue.e2e.mean)).toBeLessThan(5)
    const bad = await cli(...inputs(LLAMA), '--replay-by', 'noon')
    expect(bad.code).toBe(2)
    expect(bad.err).toMatch(/--replay-by/)
  })

  it('says when a run was fitted on itself', async () => {
    const result = await errors(LLAMA, '', LLAMA)
    expect(result.constants.host.fittedOn).toMatch(/itself/)
  })

  // The timings of these two are not at hand: lengths and arrivals of the others stand in, and only the running is checked.
  for (const [name, lengths, preempts] of [
    ['RTX4090_Llama-3.1-8B', LLAMA, true],
    ['RTXPRO6000_Qwen3-30B-A3B-Instruct-2507', QWEN, false],
  ] as const) {
    it(`runs the metadata and tables of ${name}`, async () => {
      const { code, out } = await cli(
        '--requests',
        `${RUNS}/${lengths}.requests.jsonl`,
        ...inputs(name).slice(2),
        '--fit',
        `${RUNS}/${lengths}.requests.jsonl`,
        '--json',
      )
      expect(code).toBe(0)
      expect((JSON.parse(out) as FidelityResult).preemptions > 0).toBe(preempts)
    })
  }

  it('leaves out a skew table that its own metadata declares disabled', () => {
    expect(loadKernelTables(`${RUNS}/RTX4090_Llama-3.1-8B`).skew.alpha(32, 0.25)).toBe(0)
    expect(loadKernelTables(`${RUNS}/${QWEN}.tp2`).skew.alpha(32, 0.25)).not.toBe(0)
  })

  it('names the file and field of bad input', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fidelity-'))
    try {
      const meta = join(folder, 'm.json')
      writeFileSync(meta, '{"engine_kwargs": {}}')
      const noModel = await cli(...inputs(LLAMA).slice(0, 4), '--meta', meta)
      expect(noModel).toMatchObject({ code: 2, out: '' })
      expect(noModel.err).toMatch(/m\.json engine_kwargs\.model/)
      const cut = join(folder, 'cut.requests.jsonl')
      writeFileSync(cut, readFileSync(`${RUNS}/${LLAMA}.requests.jsonl`, 'utf8').slice(0, 900))
      const halfLine = await cli('--requests', cut, ...inputs(LLAMA).slice(2))
      expect(halfLine.code).toBe(2)
      expect(halfLine.err).toMatch(/cut\.requests\.jsonl:\d+/)
      const noTables = await cli(
        ...inputs(LLAMA).slice(0, 2),
        '--tables',
        join(folder, 'none'),
        ...inputs(LLAMA).slice(4),
      )
      expect(noTables.code).toBe(2)
      expect(noTables.err).toMatch(/none\..*csv/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

it('asks for what it needs', async () => {
  const { code, err } = await cli('--json')
  expect(code).toBe(2)
  expect(err).toMatch(/--requests/)
})
